"""The state machine is data: the moves it allows are those that the verbs make, no more and no less."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models import CharField

from jobs.handlers.base import ClaimRef, Outcome
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import complete, fail, finish_one, release
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.prioritise import set_priority
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.retry import requeue, retry
from jobs.lifecycle.run_now import run_now
from jobs.models import Dependency, Job
from jobs.selectors.clock import database_now
from jobs.states import ACTIVE, TERMINAL, TRANSITIONS, Accelerator, Bucket, EventName, Hold, Status, bucket_of
from tests.factories import age, job_in, make_job, make_worker, reload


def of_holder(verb: Callable[[ClaimRef], object]) -> Callable[[Job], object]:
    """A verb of a worker, where the job has one."""
    return lambda job: verb(ClaimRef(job.pk, job.claim_id)) if job.claim_id else None


def crash(job: Job) -> None:
    age(10_000)
    reap_once()


def cancelled_while_running(job: Job) -> None:
    cancel(job.pk)
    of_holder(lambda ref: finish_one(Outcome.cancelled(ref)))(job)


def promoted(job: Job) -> None:
    age(10_000)
    claim(make_worker(), ["another-queue"])


def break_what_it_needs(job: Job) -> None:
    for dependency in job.dependencies.all():
        cancel(dependency.needs_id)


VERBS: list[Callable[[Job], object]] = [
    promoted,
    lambda job: claim(make_worker(), [job.queue]),
    of_holder(complete),
    of_holder(lambda ref: fail(ref, "broken")),
    of_holder(lambda ref: fail(ref, "broken", fatal=True)),
    of_holder(lambda ref: release(ref, "not now")),
    crash,
    lambda job: cancel(job.pk),
    cancelled_while_running,
    lambda job: retry(job.pk),
    lambda job: requeue(job.pk),
    lambda job: set_priority(job.pk, 7),
    lambda job: run_now(job.pk),
    lambda job: move_to_queue(job.pk, "another-queue"),
    lambda job: prune_once(),
    lambda job: clear(job.pk),
    break_what_it_needs,
]


def starting_points() -> list[Job]:
    later = database_now() + timedelta(hours=1)
    return [
        *(job_in(status, queue=f"q-{status}") for status in Status),
        make_job(run_after=later, queue="q-later"),
        waiting_job(),
    ]


def waiting_job() -> Job:
    return make_job(after=[make_job(queue="q-parent")], on_parent_failure="fail", queue="q-waiting")


@pytest.mark.once
@pytest.mark.django_db
def test_the_moves_allowed_are_the_moves_made():
    made: set[tuple[Status, Status]] = set()
    for verb in VERBS:
        for job in starting_points():
            verb(job)
            after = Job.objects.filter(pk=job.pk).first()
            if after and after.status != job.status:
                made.add((Status(job.status), Status(after.status)))
        Dependency.objects.all().delete()
        Job.objects.all().delete()
    assert made == {(here, there) for here, targets in TRANSITIONS.items() for there in targets}


@pytest.mark.django_db
def test_only_ended_jobs_can_be_deleted():
    jobs = starting_points()
    clear(Job.objects.all())
    left = {reload(job).status for job in jobs if Job.objects.filter(pk=job.pk).exists()}
    assert left == set(ACTIVE)


def test_every_status_is_active_or_terminal_and_not_both():
    assert sorted((*ACTIVE, *TERMINAL)) == sorted(Status)
    assert set(TRANSITIONS) == set(Status)


def test_a_terminal_status_only_leads_back_to_the_line():
    assert {there for status in TERMINAL for there in TRANSITIONS[status]} == {Status.PENDING}


@pytest.mark.parametrize("status", Status)
def test_each_status_has_its_bucket_and_what_is_for_later_one_of_its_own(status):
    assert bucket_of(status, Hold.NONE) == Bucket(status.value)
    assert bucket_of(Status.PENDING, Hold.SCHEDULED) == Bucket.SCHEDULED
    assert bucket_of(Status.PENDING, Hold.WAITING) == Bucket.SCHEDULED


@pytest.mark.parametrize(("words", "column"), [(Status, "status"), (Hold, "hold"), (Accelerator, "accelerator")])
def test_every_word_fits_its_column(words, column):
    field = Job._meta.get_field(column)
    assert isinstance(field, CharField)
    assert max(len(word) for word in words) <= (field.max_length or 0)


def test_every_name_of_an_event_fits_its_column():
    assert max(len(name) for name in EventName) <= 20
