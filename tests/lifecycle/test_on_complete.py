"""The kind's on_complete hook: inside the transaction that completes the job, or not at all."""

import asyncio
from typing import Any

import pytest

from jobs.exceptions import ClaimLost
from jobs.handlers.base import Outcome
from jobs.handlers.registry import Kind
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete, fail, finish
from jobs.lifecycle.queues import pause
from jobs.lifecycle.reap import reap_once
from jobs.models import Job, Queue
from jobs.states import Status
from tests.cursed_row import refuse_updates
from tests.factories import age, claimed, events_of, make_worker, reload


def publish(job: Job, result: Any) -> None:
    """Stands for what a kind publishes: a row of its own."""
    Queue.objects.create(name=f"published-{job.pk}", reason=str(result))


def test_it_is_given_the_job_and_the_clean_result(kind: Kind):
    kind.on_complete = publish
    ref = claimed(kind=kind.name)
    complete(ref, {"a": "x\x00"})
    assert Queue.objects.get().reason == "{'a': 'x\ufffd'}"
    assert reload(ref).status == Status.COMPLETED


@pytest.mark.parametrize("error", [ValueError, SystemExit, asyncio.CancelledError])
def test_when_it_raises_the_attempt_fails_and_nothing_of_it_remains(kind: Kind, error):
    def publish_and_break(job: Job, result: Any) -> None:
        publish(job, result)
        raise error("the page cannot be published")

    kind.on_complete = publish_and_break
    ref = claimed(kind=kind.name)
    assert complete(ref, 1).status == Status.PENDING
    job = reload(ref)
    assert (job.status, job.attempt, job.result) == (Status.PENDING, 1, None)
    assert job.last_error == f"{error.__name__}: the page cannot be published"
    assert not Queue.objects.exists()
    assert events_of(ref)[-1] == "retrying"


def test_when_it_breaks_a_database_rule_the_attempt_fails_too(kind: Kind):
    pause("taken")
    kind.on_complete = lambda job, result: Queue.objects.create(name="taken")
    ref = claimed(kind=kind.name, max_attempts=1)
    assert complete(ref).status == Status.FAILED
    assert "IntegrityError" in reload(ref).last_error


def test_an_error_that_its_kind_calls_fatal_is_fatal_here_too(kind: Kind):
    def refuse(job: Job, result: Any) -> None:
        raise KeyError("gone")

    kind.on_complete, kind.fatal_on = refuse, (LookupError,)
    assert complete(claimed(kind=kind.name)).status == Status.FAILED


def test_when_the_completion_cannot_be_written_the_hook_is_undone_with_it(kind: Kind):
    kind.on_complete = publish
    ref = claimed(kind=kind.name)
    refuse_updates(ref.job_id, "NEW.status = 'completed'")
    assert complete(ref).status == Status.PENDING
    assert not Queue.objects.exists()


def test_in_a_batch_only_the_job_whose_hook_raises_fails(kind: Kind):
    worker = make_worker(slots=2)
    good, bad = (claimed(worker, kind=kind.name) for _ in range(2))

    def picky(job: Job, result: Any) -> None:
        publish(job, result)
        if job.pk == bad.job_id:
            raise ValueError("not this one")

    kind.on_complete = picky
    answers = finish([Outcome.completed(bad), Outcome.completed(good)])
    assert [answer.status for answer in answers] == [Status.PENDING, Status.COMPLETED]
    assert Queue.objects.get().name == f"published-{good.job_id}"


def test_a_repeated_finish_does_not_publish_twice(kind: Kind):
    kind.on_complete = publish
    ref = claimed(kind=kind.name)
    complete(ref)
    complete(ref)
    assert Queue.objects.count() == 1


def test_a_lost_claim_publishes_nothing(kind: Kind):
    kind.on_complete = publish
    ref = claimed(kind=kind.name)
    age(1000)
    reap_once()
    with pytest.raises(ClaimLost):
        complete(ref)
    assert not Queue.objects.exists()


def test_only_completion_publishes(kind: Kind):
    kind.on_complete = publish
    fail(claimed(kind=kind.name), "broken", fatal=True)
    ref = claimed(kind=kind.name)
    cancel(ref.job_id)
    fail(ref, "stopped")
    assert not Queue.objects.exists()


def test_it_is_given_the_whole_job_in_one_query_of_its_own(kind: Kind):
    seen: list[Job] = []
    kind.on_complete = lambda job, result: seen.append(job)
    ref = claimed(kind=kind.name, payload={"page": 7})
    complete(ref)
    [job] = seen
    assert isinstance(job, Job)
    assert not job.get_deferred_fields()
    assert (job.payload, job.status, job.claim_id) == ({"page": 7}, Status.RUNNING, ref.claim_id)
