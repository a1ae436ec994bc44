"""Several claimers at once: every job goes to one of them, and nobody waits for the others."""

from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.db import transaction
from django.db.models import Sum
from django.utils import timezone

from jobs.lifecycle import line
from jobs.lifecycle.claim import claim
from jobs.lifecycle.workers import disable
from jobs.models import Job, JobEvent, QueueDelta
from jobs.selectors.depth import queue_depths
from jobs.states import Bucket, EventName, Status, WorkerStatus
from tests.concurrency.threads import Running, rolled_back, together
from tests.factories import age, make_job, make_worker, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def ids(jobs):
    return [job.id for job in jobs]


def test_twenty_claimers_share_ten_jobs_without_a_duplicate():
    jobs = {make_job().pk for _ in range(10)}
    workers = [make_worker(f"w{number}") for number in range(20)]
    taken = together([partial(claim, worker) for worker in workers])
    assert sorted(len(each) for each in taken) == [0] * 10 + [1] * 10
    assert {job.id for each in taken for job in each} == jobs


def test_each_claimed_job_belongs_to_the_worker_that_was_given_it():
    for _ in range(20):
        make_job()
    workers = [make_worker(f"w{number}", slots=5) for number in range(8)]
    taken = together([partial(claim, worker, limit=5) for worker in workers])
    assert sum(len(each) for each in taken) == 20
    for worker, mine in zip(workers, taken, strict=True):
        assert set(Job.objects.filter(worker=worker).values_list("pk", flat=True)) == set(ids(mine))


def test_who_has_no_room_for_isolated_jobs_finds_what_is_behind_those_that_another_claims(monkeypatch):
    monkeypatch.setattr(line, "LOOK_BEHIND", 2)
    jobs, worker = [make_job().pk for _ in range(4)], make_worker()
    with transaction.atomic():
        list(Job.objects.select_for_update().filter(pk__in=jobs[:2]))
        assert ids(Running(partial(claim, worker, limit=10, isolated_limit=0)).result()) == jobs[2:]


def test_a_locked_row_is_passed_over_without_waiting():
    first, second, worker = make_job(), make_job(), make_worker()
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=first.pk)
        assert ids(Running(partial(claim, worker)).result()) == [second.pk]


def test_a_claim_that_is_rolled_back_leaves_the_job_to_the_next():
    job, worker, other = make_job(), make_worker(), make_worker("other")
    with rolled_back():
        assert ids(claim(worker)) == [job.pk]
        assert Running(partial(claim, other)).result() == []
    assert ids(claim(other)) == [job.pk]


def test_due_jobs_are_promoted_once_by_many_claimers():
    later = timezone.now() + timedelta(seconds=30)
    scheduled = [make_job(run_after=later).pk for _ in range(30)]
    workers = [make_worker(f"w{number}") for number in range(6)]
    age(60)
    taken = together([partial(claim, worker, limit=10) for worker in workers])
    taken.append(claim(workers[0], limit=30))  # what was being promoted by one was passed over by the others
    assert sorted(job.id for each in taken for job in each) == scheduled
    assert queue_depths().queues["default"].running == 30
    assert QueueDelta.objects.filter(bucket=Bucket.SCHEDULED).aggregate(left=Sum("jobs"))["left"] == 0


def test_the_same_claim_call_twice_at_once_takes_once():
    first, second = make_job(), make_job()
    worker, claim_id = make_worker(), uuid4()
    with transaction.atomic():
        taken = claim(worker, claim_id=claim_id)
        repeated = Running(partial(claim, worker, claim_id=claim_id))
        repeated.wait_until_blocked()
    assert ids(taken) == [first.pk]
    assert [job.claim for job in repeated.result()] == [job.claim for job in taken]
    assert reload(second).status == Status.PENDING


def test_the_repeated_claim_call_takes_if_the_first_was_rolled_back():
    first, second = make_job(), make_job()
    worker, claim_id = make_worker(), uuid4()
    with rolled_back():
        claim(worker, claim_id=claim_id)
        repeated = Running(partial(claim, worker, claim_id=claim_id))
        repeated.wait_until_blocked()
    assert ids(repeated.result()) == [second.pk]
    assert reload(first).status == Status.PENDING


def test_many_repeats_of_one_claim_call_return_the_same_jobs():
    for _ in range(30):
        make_job()
    worker, claim_id = make_worker(slots=3), uuid4()
    answers = together([partial(claim, worker, limit=3, claim_id=claim_id) for _ in range(8)])
    assert Job.objects.filter(status=Status.RUNNING).count() == 3
    assert JobEvent.objects.filter(name=EventName.CLAIMED).count() == 3
    assert {tuple(sorted(ids(answer))) for answer in answers} == {
        tuple(Job.objects.filter(claim_id=claim_id).order_by("pk").values_list("pk", flat=True))
    }


def test_a_claim_that_ran_into_disable_does_not_make_the_worker_busy_again():
    job, worker = make_job(), make_worker()
    with transaction.atomic():
        disable(worker.pk)
        claiming = Running(partial(claim, worker))
        claiming.wait_until_blocked()
    assert ids(claiming.result()) == [job.pk]  # it looked before; the worker's next heartbeat is told to stop
    worker.refresh_from_db()
    assert worker.status == WorkerStatus.DISABLED
    make_job()
    assert claim(worker) == []
