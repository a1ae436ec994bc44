"""A batch of outcomes: written together, and one that cannot be written never takes the others down."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import Error, InterfaceError, InternalError, OperationalError, connection
from django.test.utils import CaptureQueriesContext
from psycopg import errors

from jobs.exceptions import ClaimLost, OutcomeNotWritten
from jobs.handlers.base import ClaimRef, Outcome
from jobs.lifecycle import finish as finishing
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete, finish
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import BEATS_UNTIL_UNLISTED, reap_once
from jobs.models import Job, Worker
from jobs.states import Status, WorkerStatus
from tests.cursed_row import refuse_updates
from tests.factories import age, claimed, events_of, make_job, make_worker, reload


def claimed_together(count: int) -> list[ClaimRef]:
    for _ in range(count):
        make_job()
    return [job.claim for job in claim(make_worker(slots=count), ["default"], count)]


def test_each_outcome_gets_its_own_answer_in_the_order_given():
    done, back, broken = claimed_together(3)
    stray = ClaimRef(done.job_id, uuid4())
    outcomes = [
        Outcome.released(back, "not now"),
        Outcome.completed(stray),
        Outcome.failed(broken, "broken", fatal=True),
        Outcome.completed(done, 1),
    ]
    answers = finish(outcomes)
    assert [answer.claim for answer in answers] == [back, stray, broken, done]
    assert [answer.status for answer in answers] == [Status.PENDING, None, Status.FAILED, Status.COMPLETED]
    assert isinstance(answers[1].refused, ClaimLost)
    assert [reload(ref).status for ref in (done, back, broken)] == [Status.COMPLETED, Status.PENDING, Status.FAILED]


def test_each_job_gets_its_own_result_and_error():
    refs = claimed_together(5)
    finish(
        [Outcome.completed(ref, ref.job_id) for ref in refs[:3]] + [Outcome.failed(ref, str(ref)) for ref in refs[3:]]
    )
    assert [reload(ref).result for ref in refs] == [*(ref.job_id for ref in refs[:3]), None, None]
    assert [reload(ref).last_error for ref in refs[3:]] == [str(ref) for ref in refs[3:]]


def test_one_claim_twice_in_a_batch_is_finished_once():
    [ref] = claimed_together(1)
    answers = finish([Outcome.completed(ref, "first"), Outcome.completed(ref, "second")])
    assert [answer.status for answer in answers] == [Status.COMPLETED, Status.COMPLETED]
    assert reload(ref).result == "first"
    assert events_of(ref).count("completed") == 1


def test_jobs_that_end_alike_are_written_together():
    refs = claimed_together(20)
    with CaptureQueriesContext(connection) as statements:
        finish([Outcome.completed(ref) for ref in refs])
    assert len(statements) < 15


def test_nothing_to_do_is_no_error():
    assert finish([]) == []


def test_an_outcome_that_cannot_be_written_becomes_a_failure_and_the_others_stay():
    first, cursed, last = claimed_together(3)
    refuse_updates(cursed.job_id, "NEW.status = 'completed'")
    answers = finish([Outcome.completed(ref, "done") for ref in (first, cursed, last)])
    assert [answer.status for answer in answers] == [Status.COMPLETED, Status.PENDING, Status.COMPLETED]
    assert [reload(ref).status for ref in (first, last)] == [Status.COMPLETED, Status.COMPLETED]
    job = reload(cursed)
    assert (job.status, job.attempt, job.result) == (Status.PENDING, 1, None)
    assert "The outcome was refused" in job.last_error
    assert "this row is cursed" in job.last_error


def test_an_outcome_that_cannot_be_written_at_all_keeps_no_other_from_its_answer(caplog):
    first, cursed, last = claimed_together(3)
    refuse_updates(cursed.job_id, "1 = 1")
    answers = finish([Outcome.completed(ref) for ref in (first, cursed, last)])
    assert [answer.status for answer in answers] == [Status.COMPLETED, None, Status.COMPLETED]
    assert "this row is cursed" in answers[1].reason
    assert f"job={cursed.job_id}" in caplog.text
    assert [reload(ref).status for ref in (first, last)] == [Status.COMPLETED, Status.COMPLETED]
    assert reload(cursed).status == Status.RUNNING
    with pytest.raises(OutcomeNotWritten, match="this row is cursed"):
        complete(cursed)


def test_a_job_whose_outcome_cannot_be_written_is_charged_for_it_and_not_begun_anew_for_ever():
    ref = claimed(worker := make_worker())
    refuse_updates(ref.job_id, "(NEW.status = 'completed' OR NEW.last_error LIKE 'The outcome was refused%')")
    assert finish([Outcome.completed(ref)])[0].status is None
    assert Worker.objects.get().status == WorkerStatus.IDLE
    for _ in range(BEATS_UNTIL_UNLISTED):
        heartbeat(worker.pk)
    assert reap_once().jobs == 0  # as long as its lease lasts
    age(121)
    heartbeat(worker.pk)
    assert reap_once().requeued == [ref.job_id]
    assert (reload(ref).attempt, reload(ref).crashes) == (1, 1)


def told_by_the_server(state: type[Exception]) -> Error:
    error = InternalError(state.__name__)
    error.__cause__ = state()
    return error


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("database is locked"),
        OperationalError("no such column: not migrated yet"),
        InterfaceError("the connection is closed"),
        told_by_the_server(errors.IdleInTransactionSessionTimeout),
        told_by_the_server(errors.ReadOnlySqlTransaction),
    ],
    ids=str,
)
@pytest.mark.parametrize("number", [1, 2])
def test_an_outage_says_nothing_against_an_outcome(monkeypatch, error: Error, number: int):
    refs = claimed_together(number)
    outcomes = [Outcome.completed(ref) for ref in refs]

    def lost(outcomes: Any) -> Any:
        monkeypatch.undo()
        raise error

    monkeypatch.setattr(finishing, "complete_alike", lost)
    with pytest.raises(type(error)):
        finish(outcomes)
    assert [answer.status for answer in finish(outcomes)] == [Status.COMPLETED] * number
    assert [events_of(ref) for ref in refs] == [["enqueued", "claimed", "completed"]] * number


RESULTS: list[Any] = [
    None, False, True, 0, 1.5, "", "é “quoted” \\ 100 %s", [], {}, {"a": [None, {"b": "c"}]}, 2**53, "null",
]  # fmt: skip


def test_whatever_the_results_are_each_job_gets_its_own():
    refs = claimed_together(len(RESULTS))
    finish([Outcome.completed(ref, result) for ref, result in zip(refs, RESULTS, strict=True)])
    stored = [reload(ref).result for ref in refs]
    assert list(map(repr, stored)) == list(map(repr, RESULTS))
    assert [ref.job_id for ref in refs if reload(ref).result is None] == list(
        Job.objects.filter(result__isnull=True).values_list("pk", flat=True)
    )


def test_different_results_are_written_together_too():
    refs = claimed_together(20)
    with CaptureQueriesContext(connection) as statements:
        finish([Outcome.completed(ref, {"number": ref.job_id}) for ref in refs])
    assert len(statements) <= 8


def test_a_batch_of_large_results_is_written_in_parts(monkeypatch):
    for module in ("finish", "complete"):
        monkeypatch.setattr(f"jobs.lifecycle.{module}.MOST_AT_ONCE", 1000)
    refs = claimed_together(5)
    with CaptureQueriesContext(connection) as statements:
        finish([Outcome.completed(ref, f"{ref.job_id}" * 600) for ref in refs])
    assert [reload(ref).result for ref in refs] == [f"{ref.job_id}" * 600 for ref in refs]
    assert sum("UPDATE" in statement["sql"] and "result" in statement["sql"] for statement in statements) > 1
