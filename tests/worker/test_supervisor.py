"""A whole worker, its supervisor in this process: every outcome is delivered, and whatever happens, it goes on."""

import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connections

from jobs.db import Now
from jobs.exceptions import ClaimLost, Fatal, RetryLater, WaitFor
from jobs.handlers.base import Answer, ClaimedJob, ClaimRef, Orders, Outcome, Report
from jobs.handlers.context import Context
from jobs.handlers.folders import Folders
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable
from jobs.models import Job, Worker
from jobs.states import Status, WorkerStatus
from jobs.worker import last_waits, shutdown
from jobs.worker.child import child_main
from jobs.worker.database_client import DatabaseClient
from jobs.worker.display import LogDisplay
from jobs.worker.intake import Intake
from jobs.worker.last_waits import LastWaits
from jobs.worker.messages import Told
from jobs.worker.nursery import Nursery
from jobs.worker.options import WorkerOptions, WorkerTally
from jobs.worker.persistence import GivenUp
from jobs.worker.proc import children_of
from jobs.worker.queue_client import QueueUnavailable
from jobs.worker.shutdown import WorkerFailed
from jobs.worker.supervisor import Supervisor
from tests.concurrency.threads import TIMEOUT, wait_until
from tests.factories import age, events_of, events_of_worker, make_due, make_job, make_periodic, reload
from tests.worker.full_machine import FullMachine
from tests.worker.household import Household, wait_until_gone

pytestmark = pytest.mark.django_db(transaction=True)
Register = Callable[..., str]
Work = Callable[..., WorkerTally]


@pytest.fixture
def work(client: DatabaseClient, tmp_path: Path, settings: LazySettings) -> Iterator[Work]:
    """Run a worker until nothing is due; its handlers run in a child, forked from here with all that is registered."""
    settings.JOBS_BACKOFF_BASE = settings.JOBS_REAP_GRACE = 0
    before = sorted(children_of(os.getpid()))

    def work(**options: Any) -> WorkerTally:
        connections.close_all()
        folders = Folders(tmp_path, "tester")
        nursery = Nursery(child_main("tester", folders))
        told = WorkerOptions(**{"until_empty": True, "reaps": False, **options})
        return Supervisor(client, nursery, folders, told, LogDisplay()).run()

    yield work
    assert sorted(children_of(os.getpid())) == before  # a browser, perhaps, that tests of pages share


def test_it_runs_what_is_due_and_signs_off(work: Work, client: DatabaseClient, kind: Register):
    jobs = [make_job(kind(lambda ctx, number: {"got": number}), {"number": number}) for number in range(3)]
    assert work() == WorkerTally(jobs=3, completed=3)
    assert [reload(job).result for job in jobs] == [{"got": 0}, {"got": 1}, {"got": 2}]
    assert Worker.objects.get(pk=client.worker.pk).status == WorkerStatus.OFFLINE


def test_a_beat_that_is_under_way_comes_before_it_signs_off(
    work: Work, client: DatabaseClient, kind: Register, tmp_path: Path, settings: LazySettings, monkeypatch
):
    settings.JOBS_HEARTBEAT_INTERVAL = 0.01
    beating, signed_off = tmp_path / "beating", threading.Event()
    beat, say_goodbye = client.heartbeat, client.sign_off

    def late_beat(*args: Any, **options: Any) -> Orders:
        beating.touch()
        signed_off.wait(1)  # as long as it is let
        return beat(*args, **options)

    def sign_off(metadata: Any) -> None:
        say_goodbye(metadata)
        signed_off.set()

    monkeypatch.setattr(client, "heartbeat", late_beat)
    monkeypatch.setattr(client, "sign_off", sign_off)
    make_job(kind(lambda ctx: wait_until(beating.exists)))
    work()
    assert Worker.objects.get(pk=client.worker.pk).status == WorkerStatus.OFFLINE


@pytest.fixture
def leaving_after(monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Callable[[float], None]:
    """A worker that beats all the time, gives up soon on what hangs, and leaves so many seconds after it stopped."""
    settings.JOBS_HEARTBEAT_INTERVAL, settings.JOBS_SHUTDOWN_TIMEOUT = 0.01, 0.1
    monkeypatch.setattr(shutdown, "GIVE_UP_AFTER", 0.3)
    return lambda seconds: monkeypatch.setattr(shutdown, "LEAVE_AFTER", seconds)


def quitting() -> Callable[[Context], None]:
    """A handler that has all handlers killed, and goes on whatever is raised in it."""
    supervisor = os.getpid()

    def function(ctx: Context) -> None:
        os.kill(supervisor, signal.SIGQUIT)
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            with suppress(BaseException):
                time.sleep(0.01)

    return function


def test_a_killed_process_that_ends_late_is_waited_for_and_its_job_handed_back(
    work: Work, client: DatabaseClient, kind: Register, leaving_after: Callable[[float], None], monkeypatch, caplog
):
    kill = Nursery.kill

    def kill_late(nursery: Nursery, pid: int) -> None:
        def in_time() -> None:
            wait_until(lambda: f"a killed process does not end pid={pid} jobs=" in caplog.text)
            kill(nursery, pid)

        threading.Thread(target=in_time).start()

    leaving_after(TIMEOUT)
    monkeypatch.setattr(Nursery, "kill", kill_late)
    job = make_job(kind(quitting()), max_attempts=1)
    assert work(until_empty=False) == WorkerTally(jobs=1, other=1)
    assert events_of(job) == ["enqueued", "claimed", "released"]
    assert events_of_worker(client.worker) == ["worker_online", "worker_offline"]


def test_a_killed_process_that_does_not_end_is_named_and_left_to_the_reaper(
    work: Work, client: DatabaseClient, kind: Register, leaving_after: Callable[[float], None], monkeypatch
):
    leaving_after(1.0)
    monkeypatch.setattr(Nursery, "kill", lambda nursery, pid: None)
    job = make_job(kind(quitting()), max_attempts=1)
    with pytest.raises(GivenUp, match=rf"A killed process does not end.*: pid=[0-9]+ jobs={job.pk}$"):
        work(until_empty=False)
    assert reload(job).status == Status.RUNNING
    assert events_of_worker(client.worker) == ["worker_online", "worker_offline"]


def test_no_beat_follows_when_a_worker_signs_off_while_an_outcome_hangs(
    work: Work, client: DatabaseClient, kind: Register, leaving_after: Callable[[float], None], monkeypatch
):
    over = threading.Event()

    def finish(outcomes: Sequence[Outcome]) -> list[Answer]:
        os.kill(os.getpid(), signal.SIGTERM)
        assert over.wait(TIMEOUT)
        return []

    leaving_after(1.0)
    monkeypatch.setattr(client, "finish", finish)
    make_job(kind(lambda ctx: None, on_complete=lambda job, result: None))
    try:
        with pytest.raises(GivenUp):
            work(until_empty=False)
        assert events_of_worker(client.worker) == ["worker_online", "worker_offline"]
    finally:
        over.set()


def test_a_queue_that_does_not_answer_a_stopping_worker_is_given_up(
    work: Work, client: DatabaseClient, leaving_after: Callable[[float], None], monkeypatch
):
    def finish(outcomes: Sequence[Outcome]) -> list[Answer]:
        os.kill(os.getpid(), signal.SIGTERM)
        raise QueueUnavailable("it is away")

    leaving_after(TIMEOUT)
    monkeypatch.setattr(client, "finish", finish)
    make_job()
    with pytest.raises(GivenUp, match="it is away"):
        work(until_empty=False)


@pytest.fixture
def webhooks_hang(client: DatabaseClient, settings: LazySettings, monkeypatch) -> Iterator[Callable[[], bool]]:
    """Whether the first call still does; a worker would wait for it for longer than it hangs."""
    over, answered = threading.Event(), threading.Event()

    def hang() -> None:
        over.wait(TIMEOUT / 2)
        answered.set()

    settings.JOBS_WEBHOOK_TIMEOUT = 2 * TIMEOUT
    monkeypatch.setattr(client, "next_delivery_in", hang)
    yield lambda: not answered.is_set()
    over.set()


def test_what_is_under_way_when_a_worker_ends_has_one_deadline(
    work: Work, webhooks_hang: Callable[[], bool], monkeypatch
):
    monkeypatch.setattr(last_waits, "ALL_TOGETHER", 2.0)
    work()
    assert webhooks_hang()


def test_a_signal_that_comes_while_a_worker_ends_is_heeded(
    work: Work, client: DatabaseClient, webhooks_hang: Callable[[], bool], monkeypatch
):
    sign_off = client.sign_off

    def sign_off_and_be_told(metadata: Any) -> None:
        sign_off(metadata)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(last_waits, "ALL_TOGETHER", 2 * TIMEOUT)
    monkeypatch.setattr(client, "sign_off", sign_off_and_be_told)
    work()
    assert webhooks_hang()
    assert Worker.objects.get(pk=client.worker.pk).status == WorkerStatus.OFFLINE


def test_one_that_is_taken_for_dead_before_its_first_look_leaves_nothing_undone(
    work: Work, client: DatabaseClient, kind: Register, settings: LazySettings
):
    """Its own reaper finds that it has not beaten yet, as on a machine so busy that this takes longer than allowed."""
    settings.JOBS_WORKER_OFFLINE_THRESHOLD = 1e-6
    make_job(kind(lambda ctx: None))
    assert work(reaps=True) == WorkerTally(jobs=1, completed=1)
    assert events_of_worker(client.worker) == ["worker_online", "worker_offline"] * 2


def test_one_that_is_disabled_before_its_first_look_says_that_it_may_leave_jobs(
    work: Work, client: DatabaseClient, kind: Register, monkeypatch
):
    register, job = client.register, make_job(kind(lambda ctx: None))

    def register_and_be_disabled() -> str:
        name = register()
        disable(client.worker.pk)
        return name

    monkeypatch.setattr(client, "register", register_and_be_disabled)
    with pytest.raises(WorkerFailed, match="was disabled"):
        work()
    assert reload(job).status == Status.PENDING


def test_periodic_jobs_that_are_due_are_enqueued_before_the_first_look(work: Work, kind: Register):
    name = kind(lambda ctx, number: number)
    make_due(make_periodic("first", kind=name, payload={"number": 1}))
    assert work() == WorkerTally(jobs=1, completed=1)
    make_due(make_periodic("second", kind=name, payload={"number": 2}))
    assert work(ticks=False) == WorkerTally()


@pytest.fixture
def supervisor(client: DatabaseClient, household: Household, tmp_path: Path) -> Iterator[Supervisor]:
    """Of a worker that is open, and not under way: the test says what happens to it."""
    folders, options = Folders(tmp_path, "tester"), WorkerOptions(max_minutes=1)
    supervisor = Supervisor(client, household.nursery, folders, options, LogDisplay())
    supervisor.intake.is_open = True
    yield supervisor
    household.children += supervisor.crew.children


def test_when_its_time_is_over_it_looks_for_nothing_more(supervisor: Supervisor):
    supervisor.look_for_work(supervisor.began_at + 61)
    assert supervisor.shutdown.begun
    assert (supervisor.intake.looking, supervisor.crew.children) == (False, [])


def test_handlers_run_in_another_process(work: Work, kind: Register):
    job = make_job(kind(lambda ctx: os.getpid()))
    work()
    assert reload(job).result != os.getpid()


@pytest.mark.parametrize(("processes", "concurrency"), [(2, 1), (1, 2)])
def test_so_many_jobs_run_at_once_as_there_are_slots(work: Work, kind: Register, tmp_path, processes, concurrency):
    def meet(ctx: Context, number: int) -> None:
        (tmp_path / f"here-{number}").touch()
        deadline = time.monotonic() + 20
        while not all((tmp_path / f"here-{other}").exists() for other in range(2)):
            assert time.monotonic() < deadline, "the other one did not run meanwhile"
            time.sleep(0.005)

    name = kind(meet)
    for number in range(2):
        make_job(name, {"number": number}, max_attempts=1)
    assert work(processes=processes, concurrency=concurrency).completed == 2


def test_outcomes_of_every_sort_reach_the_queue(work: Work, kind: Register):
    def raises(error: Exception) -> Callable[..., None]:
        def function(ctx: Context) -> None:
            raise error

        return function

    fails = make_job(kind(raises(LookupError("gone"))), max_attempts=2)
    fatal = make_job(kind(raises(Fatal("no video"))), max_attempts=2)
    later = make_job(kind(raises(RetryLater(3600, count=False))), max_attempts=1)
    tally = work()
    assert (tally.jobs, tally.failed, tally.other) == (4, 2, 2)
    assert [(reload(job).status, reload(job).attempt) for job in (fails, fatal, later)] == [
        (Status.FAILED, 2), (Status.FAILED, 1), (Status.PENDING, 0),
    ]  # fmt: skip


def test_what_a_handler_said_last_is_heard_though_it_failed_right_after(work: Work, kind: Register):
    def talks(ctx: Context) -> None:
        for percent in range(60):
            ctx.progress(percent, f"step {percent}")
        raise RuntimeError("enough")

    job = make_job(kind(talks), max_attempts=1)
    work()
    assert (reload(job).status, reload(job).progress, reload(job).step) == (Status.FAILED, 59, "step 59")


def test_what_is_said_of_an_attempt_that_has_ended_is_not_passed_on(supervisor: Supervisor, household: Household):
    assignment = household.assignment()
    child, said = assignment.child, Told(Report(assignment.job.claim, progress=7))
    supervisor.on_words(child, [said])
    assert list(supervisor.clerk._tray.reports) == [assignment.job.claim]
    child.ended(assignment.job.claim)
    supervisor.clerk.forget([assignment.job.claim])
    supervisor.on_words(child, [said])
    assert (supervisor.clerk._tray.reports, supervisor.clerk._news) == ({}, {})


def test_a_thread_that_outlives_its_handler_is_told_that_the_claim_is_over(work: Work, kind: Register, tmp_path: Path):
    told = tmp_path / "told"

    def leaves_a_thread(ctx: Context) -> None:
        def talk() -> None:
            try:
                while True:
                    ctx.progress(1)
                    time.sleep(0.005)
            except ClaimLost:
                told.touch()

        threading.Thread(target=talk, daemon=True).start()

    make_job(kind(leaves_a_thread), priority=1)
    make_job(kind(lambda ctx: wait_until(told.exists)), max_attempts=1)  # in the same process
    assert work() == WorkerTally(jobs=2, completed=2)


def test_a_job_whose_last_report_is_refused_is_finished_all_the_same(work: Work, kind: Register):
    def boasts(ctx: Context) -> str:
        ctx.progress(1)
        ctx.quality("720p").segments(-1)
        return "done"

    job = make_job(kind(boasts))
    work()
    assert (reload(job).status, reload(job).result) == (Status.COMPLETED, "done")


def test_the_outcome_of_a_lost_claim_is_dropped_and_the_next_job_runs(work: Work, kind: Register):
    def loses_its_claim(ctx: Context) -> str:
        age(10_000)
        reap_once()
        Worker.objects.update(status="idle")  # as its next heartbeat will say
        return "too late"

    job, following = make_job(kind(loses_its_claim), max_attempts=1), make_job()
    assert (work().jobs, reload(following).status) == (2, Status.COMPLETED)
    assert (reload(job).status, reload(job).result) == (Status.FAILED, None)
    assert events_of(job)[-1] == "failed"


def test_a_handler_that_finds_its_claim_lost_says_nothing_more_and_the_next_job_runs(work: Work, kind: Register):
    def asks(ctx: Context) -> str:
        age(10_000)
        reap_once()
        Worker.objects.update(status="idle")
        try:
            ctx.guard()
        finally:
            ctx.progress(99)
        return "published"

    job, following = make_job(kind(asks), max_attempts=1), make_job()
    assert (work().jobs, reload(following).status) == (2, Status.COMPLETED)
    assert (reload(job).status, reload(job).progress, reload(job).result) == (Status.FAILED, 0, None)


def test_an_outcome_that_comes_after_the_lease_ended_counts_while_nobody_has_taken_the_job(work: Work, kind: Register):
    job = make_job(kind(lambda ctx: age(10_000)), max_attempts=1)
    work()
    assert reload(job).status == Status.COMPLETED


def test_a_worker_whose_row_is_gone_goes_on_to_its_end(work: Work, kind: Register):
    def loses_its_worker(ctx: Context) -> None:
        age(10_000)
        Worker.objects.all().delete()

    job = make_job(kind(loses_its_worker))
    assert work().jobs == 1
    assert reload(job).status == Status.RUNNING  # for the reaper, as of a worker that is gone


class Cut(DatabaseClient):
    """A client whose connection is cut right after the first outcome was written: its answer is lost."""

    cut = False

    def finish(self, outcomes: Sequence[Outcome]) -> list[Answer]:
        answers = super().finish(outcomes)
        if not self.cut:
            self.cut = True
            raise QueueUnavailable("the answer was lost")
        return answers


def test_an_outcome_whose_answer_was_lost_is_asked_for_again_and_counts_once(work: Work, client: DatabaseClient):
    client.__class__ = Cut
    job = make_job()
    assert work() == WorkerTally(jobs=1, completed=1)
    assert events_of(job) == ["enqueued", "claimed", "completed"]


class Commanding(DatabaseClient):
    """A client whose every beat brings the same orders about all claims that the worker holds."""

    orders: Callable[[Collection[ClaimRef]], Orders]

    def heartbeat(self, claims: Collection[ClaimRef], metadata: Any = None, **more: Any) -> Orders:
        super().heartbeat(claims, **more)
        return self.orders(claims)


def stubborn(ctx: Context) -> None:
    """Goes on whatever it is asked, until it is interrupted."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        time.sleep(0.005)


def test_a_lost_claim_interrupts_a_handler_that_does_not_ask(
    work: Work, client: DatabaseClient, kind: Register, settings: LazySettings
):
    settings.JOBS_HEARTBEAT_INTERVAL = 0.1
    client.__class__ = Commanding
    client.orders = lambda claims: Orders(lost=tuple(claims))  # type: ignore[attr-defined]
    job = make_job(kind(stubborn))
    tally = work()
    assert (tally.jobs, tally.other) == (1, 1)
    assert reload(job).status == Status.RUNNING  # nothing was said of it any more


def assert_handed_back(job: Job) -> None:
    assert events_of(job) == ["enqueued", "claimed", "released"]
    assert (reload(job).status, reload(job).attempt) == (Status.PENDING, 0)


def test_a_fault_of_the_supervisors_own_is_told_and_what_runs_is_handed_back(
    work: Work, kind: Register, tmp_path: Path, monkeypatch
):
    begun, look_round = tmp_path / "begun", Supervisor.look_round

    def run(ctx: Context) -> None:
        begun.touch()
        stubborn(ctx)

    def fail_once_it_runs(self: Supervisor, now: float) -> None:
        if begun.exists():
            raise RuntimeError("can't start new thread")
        look_round(self, now)

    monkeypatch.setattr(Supervisor, "look_round", fail_once_it_runs)
    job = make_job(kind(run), max_attempts=1)
    with pytest.raises(WorkerFailed, match="can't start new thread"):
        work()
    assert_handed_back(job)


def test_what_nobody_has_been_given_because_of_a_fault_is_handed_back(work: Work, monkeypatch):
    def give_out(self: Intake, jobs: Sequence[ClaimedJob]) -> list[ClaimedJob]:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(Intake, "give_out", give_out)
    job = make_job(max_attempts=1)
    with pytest.raises(WorkerFailed, match="can't start new thread"):
        work()
    assert_handed_back(job)


def test_what_a_child_did_not_come_to_tidy_up_is_removed_when_it_is_killed(
    supervisor: Supervisor, household: Household
):
    assignment = household.assignment()
    child, scratch = assignment.child, supervisor.folders.make_scratch(assignment.job.claim)
    supervisor.crew.isolated.append(child)
    child.ended(assignment.job.claim)
    child.kill()
    wait_until_gone(child)
    supervisor.bury(child)
    supervisor.janitor.start()
    wait_until(lambda: not scratch.exists())
    supervisor.janitor.close(LastWaits(TIMEOUT))


@pytest.mark.parametrize("limit", [FullMachine.limit_processes, FullMachine.limit_threads])
def test_a_machine_without_room_for_another_process_is_asked_seldom_and_the_job_waits(
    work: Work, kind: Register, tmp_path: Path, monkeypatch, caplog: pytest.LogCaptureFixture, limit
):
    machine = FullMachine(tmp_path, monkeypatch)
    limit(machine)
    make_job(kind(lambda ctx: machine.fill(2.0)), priority=1)  # in a process that is there
    job = make_job(kind(lambda ctx: None, isolation="process"), max_attempts=1)
    assert work().completed == 2
    claimed = events_of(job).count("claimed")
    assert 2 <= claimed <= 3  # at once, and after 1 s and 3 s: not as often as the database can do it
    assert events_of(job) == ["enqueued", *["claimed", "released"] * (claimed - 1), "claimed", "completed"]
    assert (reload(job).attempt, reload(job).crashes) == (1, 0)
    assert caplog.text.count("no new process can be made") == 1
    assert "Traceback" not in caplog.text


class Unheard(DatabaseClient):
    """A client whose beats do not get through until a file is there."""

    gate: Path

    def heartbeat(self, claims: Collection[ClaimRef], metadata: Any = None, **more: Any) -> Orders:
        if not self.gate.exists():
            raise QueueUnavailable("no beat gets through")
        return super().heartbeat(claims, **more)


@pytest.fixture
def gate(client: DatabaseClient, tmp_path: Path, settings: LazySettings) -> Path:
    """While it is closed, no lease is renewed."""
    settings.JOBS_HEARTBEAT_INTERVAL = 0.1
    client.__class__ = Unheard
    client.gate = tmp_path / "gate"  # type: ignore[attr-defined]
    return tmp_path / "gate"


def test_what_is_exclusive_is_stopped_when_its_lease_cannot_be_renewed(
    work: Work, kind: Register, gate: Path, tmp_path: Path
):
    """It is handed back, so that it is none of the jobs after which the worker was to exit."""

    def stubborn_at_first(ctx: Context) -> None:
        if not (tmp_path / "begun").exists():
            (tmp_path / "begun").touch()
            stubborn(ctx)

    job = make_job(kind(stubborn_at_first, exclusive=True, lease=1.0))
    tally = work(until_empty=False, max_jobs=1)
    assert events_of(job)[:4] == ["enqueued", "claimed", "released", "claimed"]
    assert (reload(job).status, reload(job).attempt, tally.completed) == (Status.COMPLETED, 1, 1)


def test_others_run_on_through_an_outage_beyond_their_lease(work: Work, kind: Register, gate: Path):
    def outlasts_its_lease(ctx: Context) -> str:
        over = Job.objects.filter(pk=ctx.job_id, lease_expires_at__lt=Now())
        wait_until(over.exists)
        gate.touch()
        return "done"

    job = make_job(kind(outlasts_its_lease, lease=1.0))
    work()
    assert (reload(job).status, reload(job).attempt, reload(job).result) == (Status.COMPLETED, 1, "done")


def test_a_job_that_waits_for_what_it_spawned_leaves_its_slot_to_them(work: Work, kind: Register):
    square = kind(lambda ctx, number: number**2)

    def add_up(ctx: Context) -> int:
        children = [ctx.spawn(square, {"number": number}) for number in range(3)]
        if not all(child.ended for child in children):
            raise WaitFor(children)
        return sum(child.result for child in ctx.children())

    job = make_job(kind(add_up), max_attempts=1)
    assert work(concurrency=1).completed == 4
    assert (reload(job).result, reload(job).attempt) == (5, 1)


def test_what_cannot_be_spawned_is_told_to_the_handler(work: Work, kind: Register):
    job = make_job(kind(lambda ctx: ctx.spawn("no.such.kind")), max_attempts=1)
    work()
    assert "No handler is registered for the kind 'no.such.kind'" in reload(job).last_error
