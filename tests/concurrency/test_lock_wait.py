"""A row lock that somebody holds keeps a worker waiting, but never for good."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from psycopg import IsolationLevel

from jobs import lock_waits
from jobs.db import Now, is_passing
from jobs.exceptions import ClaimExpired, JobLocked
from jobs.handlers.base import Orders, Outcome, Report
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle import finish, hooks
from jobs.lifecycle.claim import claim
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.models import Job
from jobs.states import Status
from jobs.worker import database_client
from jobs.worker.clerk import Clerk
from jobs.worker.heartbeat import Heartbeat
from jobs.worker.ledger import NEVER, Ledger
from jobs.worker.messages import Asked
from jobs.worker.options import WorkerTally
from jobs.worker.queue_client import JobBusy, QueueUnavailable
from tests.concurrency.threads import Running, scalar, wait_until
from tests.factories import events_of, make_job

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> database_client.DatabaseClient:
    """A worker's client, impatient for the test's sake."""
    monkeypatch.setattr(lock_waits, "LOCK_WAIT_MS", 50)
    client = database_client.DatabaseClient("impatient", [])
    client.register()
    return client


def hold_row(job_id: int, held: threading.Event, let_go: threading.Event) -> None:
    try:
        with transaction.atomic():
            Job.objects.select_for_update().get(pk=job_id)
            held.set()
            assert let_go.wait(30)
    finally:
        connection.close()


@contextmanager
def row_held(job_id: int) -> Iterator[None]:
    held, let_go = threading.Event(), threading.Event()
    holder = threading.Thread(target=hold_row, args=(job_id, held, let_go))
    holder.start()
    try:
        assert held.wait(30)
        yield
    finally:
        let_go.set()
        holder.join(30)


def test_a_report_does_not_wait_for_a_row_and_passes_once_it_is_free(client):
    job = make_job()
    held_claim = claim(client.worker)[0].claim
    with row_held(job.pk), pytest.raises(JobBusy, match="keeps the row of job"):
        client.report(Report(held_claim, progress=40))
    client.report(Report(held_claim, progress=50))
    assert Job.objects.get(pk=job.pk).progress == 50


def test_an_outcome_whose_row_is_locked_holds_up_no_other_of_its_batch(client):
    for _ in range(3):
        make_job()
    locked, *free = claim(client.worker, limit=9)
    outcomes = [Outcome.completed(job.claim, {"n": job.id}) for job in (locked, *free)]
    with row_held(locked.id):
        refused, *answers = client.finish(outcomes)
        assert isinstance(refused.refused, JobLocked)
        assert [answer.status for answer in answers] == [Status.COMPLETED] * len(free)
    again = client.finish(outcomes)
    assert [(each.status, each.repeated) for each in again] == [
        (Status.COMPLETED, False),
        *[(Status.COMPLETED, True)] * len(free),
    ]


def test_an_outcome_whose_row_is_locked_for_so_long_that_no_beat_could_renew_it_holds_up_no_other(client):
    for _ in range(2):
        make_job()
    locked, free = claim(client.worker, limit=2)
    Job.objects.filter(pk=locked.id).update(lease_expires_at=Now())
    with row_held(locked.id):
        refused, answer = client.finish([Outcome.completed(job.claim) for job in (locked, free)])
    assert (type(refused.refused), answer.status) == (ClaimExpired, Status.COMPLETED)


@pytest.mark.parametrize("expired", [False, True], ids=["its claim holds", "no beat could renew it"])
def test_a_worker_tells_of_its_other_jobs_while_one_is_locked(client, monkeypatch, expired):
    """Its clerk answers a question and stores what is told, and comes back to what is said of the locked one."""
    for _ in range(2):
        make_job()
    locked, free = claim(client.worker, limit=2)
    answers: list[Any] = []
    finished: list[Any] = []
    clerk = Clerk(
        client, Ledger(), reaps_first=False, on_registered=lambda name: None, on_found=lambda found: None,
        on_finished=finished.extend, on_failure=answers.append,
    )  # fmt: skip
    monkeypatch.setattr(client, "register", lambda: client.worker.name)  # as which it has claimed
    clerk.ledger.add([locked, free], NEVER)
    tries: list[Any] = []
    report = client.report

    def report_once(what: Report) -> None:
        tries.append(what.claim)
        report(what)

    monkeypatch.setattr(client, "report", report_once)
    if expired:
        Job.objects.filter(pk=locked.id).update(lease_expires_at=Now())
    clerk.start()
    try:
        with row_held(locked.id):
            clerk.report(Report(locked.claim, progress=10))
            clerk.finish([Outcome.completed(locked.claim)])
            clerk.ask(Asked(1, locked.claim, Report(locked.claim, checkpoint=1)), answers.append)
            clerk.ask(Asked(2, free.claim, Report(free.claim, checkpoint=2)), answers.append)
            wait_until(lambda: answers == [None])
            clerk.finish([Outcome.completed(free.claim)])
            wait_until(lambda: len(finished) == 1)
        wait_until(lambda: len(finished) == 2 and len(answers) == 2)
    finally:
        clerk.close()
        clerk.join(30)
    assert [answer.claim for answer in finished] == [free.claim, locked.claim]
    assert tries.count(locked.claim) < 10  # it does not ask again and again
    assert events_of(locked.claim) == ["enqueued", "claimed", "progressed", "completed"]  # as it was said


def test_a_hook_that_takes_its_time_holds_up_no_claim_of_jobs_under_the_same_limit(client):
    begun, let_go = threading.Event(), threading.Event()

    def waits(job: Job, result: Any) -> None:
        begun.set()
        assert let_go.wait(30)

    registry.add(Kind("test.slow", lambda ctx: None, on_complete=waits))
    try:
        set_limit("kind", "test.slow", Rules(max_running=5))
        for _ in range(2):
            make_job("test.slow")
        (job,) = claim(client.worker, limit=1)
        finishing = Running(lambda: finish.finish([Outcome.completed(job.claim)]))
        assert begun.wait(30)
        with lock_waits.lock_waits_limited():
            assert len(claim(client.worker, limit=1)) == 1
        let_go.set()
        assert finishing.result()[0].status == Status.COMPLETED
    finally:
        let_go.set()
        registry.remove("test.slow")


def test_a_beat_that_finds_a_row_locked_does_not_count_as_a_renewal_of_its_lease(client):
    free, locked = make_job(), make_job()
    jobs = {job.id: job for job in claim(client.worker, limit=2)}
    ledger = Ledger()
    brought: list[Orders] = []
    ledger.add(jobs.values(), NEVER)
    pulse = Heartbeat(client, ledger, brought.append, WorkerTally())
    with row_held(locked.pk):
        pulse.beat()
        assert brought.pop() == Orders(unrenewed=(jobs[locked.pk].claim,))
        assert ledger.lease_ends_at(jobs[free.pk]) > NEVER
        assert ledger.lease_ends_at(jobs[locked.pk]) == NEVER
        assert pulse.pause() < client.heartbeat_interval
    pulse.beat()
    assert brought == [Orders()]
    assert ledger.lease_ends_at(jobs[locked.pk]) > NEVER
    assert pulse.pause() == client.heartbeat_interval


def limit() -> str:
    return str(scalar("SHOW lock_timeout"))


@pytest.mark.parametrize("level", [None, IsolationLevel.REPEATABLE_READ])
def test_the_limit_is_the_transactions_own_and_comes_with_its_begin(level: IsolationLevel | None):
    connection.ensure_connection()
    connection.connection.isolation_level = level
    try:
        with CaptureQueriesContext(connection) as said, lock_waits.lock_waits_limited(), transaction.atomic():
            inside = limit(), scalar("SHOW transaction_isolation")
    finally:
        connection.connection.isolation_level = None
    assert inside == ("1s", "repeatable read" if level else "read committed")
    assert len(said) == 4  # BEGIN with the limit, the two questions, COMMIT
    with transaction.atomic():
        assert limit() == "0"


def silent_until_ended(job_id: int) -> None:
    """Until somebody else gets the row that we have locked: the server has ended us."""

    def take_row() -> None:
        with transaction.atomic():
            Job.objects.select_for_update().get(pk=job_id)

    Running(take_row).result()


def fall_silent(monkeypatch, *, in_a_hook: bool) -> None:
    """Lock a row, and then say nothing for much longer than is allowed, until another would have had it."""
    monkeypatch.setattr(lock_waits, "SILENCE_MS", 100)
    job = make_job()
    with lock_waits.lock_waits_limited(), transaction.atomic():
        Job.objects.select_for_update().get(pk=job.pk)
        if in_a_hook:
            hooks.run(threading.Event().wait, 0.5)
        else:
            silent_until_ended(job.pk)
        Job.objects.get(pk=job.pk)


def test_the_rows_of_a_worker_that_falls_silent_in_a_transaction_are_free_after_a_while(monkeypatch):
    with pytest.raises(DatabaseError, match="idle-in-transaction timeout") as lost:
        fall_silent(monkeypatch, in_a_hook=False)
    assert is_passing(lost.value)  # it is tried again, by another connection
    connection.close()


def told_again(client: database_client.DatabaseClient, outcome: Outcome) -> list[str]:
    """The history of a job whose outcome was under way when the server ended the session, and is then told again."""
    with pytest.raises(QueueUnavailable, match="idle-in-transaction timeout"):
        client.finish([outcome])
    assert client.finish([outcome])[0].status == Status.COMPLETED
    return events_of(outcome.claim)


def test_a_worker_that_falls_silent_while_it_tells_an_outcome_tells_it_again(client, monkeypatch):
    monkeypatch.setattr(lock_waits, "SILENCE_MS", 100)
    make_job()
    (job,) = claim(client.worker)
    complete_alike = finish.complete_alike

    def and_fall_silent(outcomes: Any) -> Any:
        monkeypatch.setattr(finish, "complete_alike", complete_alike)
        done = complete_alike(outcomes)
        silent_until_ended(job.id)
        return done

    monkeypatch.setattr(finish, "complete_alike", and_fall_silent)
    assert told_again(client, Outcome.completed(job.claim)) == ["enqueued", "claimed", "completed"]


def test_a_hook_whose_session_the_server_has_ended_costs_no_attempt(client):
    silences = iter([silent_until_ended, lambda job_id: None])

    def falls_silent(job: Job, result: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '100ms'")
        next(silences)(job.pk)
        Job.objects.get(pk=job.pk)

    registry.add(Kind("test.silent", lambda ctx: None, on_complete=falls_silent))
    try:
        make_job("test.silent")
        (job,) = claim(client.worker)
        assert told_again(client, Outcome.completed(job.claim)) == ["enqueued", "claimed", "completed"]
    finally:
        registry.remove("test.silent")


def test_a_hook_may_take_its_time(monkeypatch):
    fall_silent(monkeypatch, in_a_hook=True)
