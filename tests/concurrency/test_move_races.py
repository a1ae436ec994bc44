"""Run now and move to another queue against claims and enqueues: who commits first wins, and nothing is lost."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction

from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.move_to_queue import NOT_PENDING, TAKEN, move_to_queue
from jobs.lifecycle.promote import promote_due
from jobs.lifecycle.run_now import NOT_SCHEDULED, run_now
from jobs.selectors.clock import database_now
from jobs.states import Status
from tests.concurrency.threads import Running, rolled_back, together
from tests.factories import kept_counts, make_job, make_worker, real_counts, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_a_job_being_moved_is_not_claimed_from_its_old_queue():
    job, worker = make_job(queue="slow"), make_worker()
    with transaction.atomic():
        assert move_to_queue(job.pk, "fast").moved == [job.pk]
        assert Running(partial(claim, worker, ["slow"])).result() == []
    assert claim(worker, ["slow"]) == []
    assert [taken.id for taken in claim(worker, ["fast"])] == [job.pk]


def test_a_move_that_meets_a_claim_leaves_the_job_alone():
    job, worker = make_job(queue="slow"), make_worker()
    with transaction.atomic():
        claim(worker, ["slow"])
        moving = Running(partial(move_to_queue, job.pk, "fast"))
        moving.wait_until_blocked()
    assert moving.result().skipped == {job.pk: NOT_PENDING}
    assert (reload(job).queue, reload(job).status) == ("slow", Status.RUNNING)


def test_a_move_that_meets_an_enqueue_of_its_key_reports_the_duplicate():
    job, other = make_job(queue="slow", dedupe_key="k"), make_job(queue="slow")
    with transaction.atomic():
        enqueue("test.noop", queue="fast", dedupe_key="k")
        moving = Running(partial(move_to_queue, [job.pk, other.pk], "fast"))
        moving.wait_until_blocked()
    assert (moving.result().moved, moving.result().skipped) == ([other.pk], {job.pk: TAKEN})
    assert kept_counts() == real_counts()


def test_a_move_that_meets_an_enqueue_that_is_rolled_back_goes_on():
    job = make_job(queue="slow", dedupe_key="k")
    with rolled_back():
        enqueue("test.noop", queue="fast", dedupe_key="k")
        moving = Running(partial(move_to_queue, job.pk, "fast"))
        moving.wait_until_blocked()
    assert moving.result().moved == [job.pk]


def test_two_moves_at_once_count_each_job_once():
    jobs = [make_job(queue="slow").pk for _ in range(20)]
    together([partial(move_to_queue, jobs, name) for name in ("fast", "faster", "fast", "faster")])
    assert kept_counts() == real_counts()


def test_a_job_that_is_told_to_run_twice_at_once_is_counted_once():
    job = make_job(run_after=database_now() + timedelta(hours=1))
    with transaction.atomic():
        assert run_now(job.pk).moved == [job.pk]
        again = Running(partial(run_now, job.pk))
        again.wait_until_blocked()
    assert again.result().skipped == {job.pk: NOT_SCHEDULED}
    assert kept_counts() == {("default", "pending"): 1}


def test_a_job_that_is_told_to_run_is_promoted_by_nobody_else():
    job = make_job(run_after=database_now() + timedelta(hours=1))
    with transaction.atomic():
        run_now(job.pk)
        assert Running(transaction.atomic(promote_due)).result() == 0
    assert kept_counts() == real_counts()
