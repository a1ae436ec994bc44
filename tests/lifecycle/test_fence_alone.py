"""Every guard looks at the status itself, and does not lean on the rule that only running jobs have a claim."""

from collections.abc import Callable, Iterator

import pytest
from django.db import connection

from jobs.exceptions import ClaimError
from jobs.handlers.base import ClaimRef, Report
from jobs.lifecycle.claim import claim
from jobs.lifecycle.fence import verify
from jobs.lifecycle.finish import complete
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.lifecycle.start import start
from jobs.models import Job, Worker
from jobs.states import Status, WorkerStatus
from tests.factories import age, claimed, make_job, make_worker
from tests.processes import dead_process


@pytest.fixture(autouse=True)
def _no_rule_about_claims(db: None) -> Iterator[None]:
    """As if somebody had dropped the constraint; it is back when the test is over."""
    if connection.vendor == "postgresql":
        run_sql("ALTER TABLE jobs_job DROP CONSTRAINT job_state_sound")
        yield
    else:
        run_sql("PRAGMA ignore_check_constraints = ON")
        yield
        run_sql("PRAGMA ignore_check_constraints = OFF")


def run_sql(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.fixture(autouse=True)
def _counters_and_attempts_stay_right() -> None:
    """Rows written by hand are not counted: leave that check out here."""


def pending_with_a_claim(worker: Worker) -> ClaimRef:
    """A row that says it waits, but still carries its claim."""
    ref = claimed(worker)
    Job.objects.filter(pk=ref.job_id).update(status=Status.PENDING, hold="scheduled", run_after="9999-01-01T00:00Z")
    return ref


def row(ref: ClaimRef) -> object:
    return Job.objects.filter(pk=ref.job_id).values().get()


@pytest.mark.parametrize(
    "write", [complete, start, verify, lambda ref: report(Report(ref))], ids=["complete", "start", "verify", "report"]
)
def test_a_job_that_does_not_run_cannot_be_written_to(write: Callable[[ClaimRef], object]):
    ref = pending_with_a_claim(make_worker())
    before = row(ref)
    with pytest.raises(ClaimError):
        write(ref)
    assert row(ref) == before


def test_a_heartbeat_neither_renews_it_nor_counts_it_as_unlisted():
    worker = make_worker()
    ref = pending_with_a_claim(worker)
    before = row(ref)
    assert heartbeat(worker.pk, [ref]).lost == (ref,)
    heartbeat(worker.pk)
    assert row(ref) == before


def test_it_fills_no_slot():
    worker = make_worker()
    pending_with_a_claim(worker)
    heartbeat(worker.pk)
    assert Worker.objects.get().status == WorkerStatus.IDLE


def test_a_repeated_claim_call_does_not_return_it():
    ref = pending_with_a_claim(worker := make_worker())
    make_job()
    assert claim(worker, [], 1, ref.claim_id) == []


def test_a_reaper_leaves_it_alone():
    refs = [pending_with_a_claim(make_worker()), pending_with_a_claim(make_worker(process=dead_process()))]
    Job.objects.update(unlisted_beats=2)
    age(100_000)
    before = [row(ref) for ref in refs]
    assert reap_once().jobs == 0
    assert [row(ref) for ref in refs] == before
