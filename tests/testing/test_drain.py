"""`drain` runs jobs in the test's own thread, and all that a worker does to them happens."""

import asyncio
import os
import re
import threading
import time
from datetime import timedelta
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, connection, transaction
from django.test import TestCase
from django.utils import timezone

from jobs import Fatal, NewJob, RetryLater, enqueue, enqueue_many
from jobs.exceptions import Cancelled, CommandFailed, InvalidInput, UnknownKind
from jobs.handlers.pipeline import Pipeline
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.queues import pause
from jobs.models import Job, Worker
from jobs.testing import JobFailed, JobsMixin, NeverCameTrue, TooManyJobs, drain, run_inline
from tests.factories import events_of, kept_counts, real_counts, reload

pytestmark = pytest.mark.django_db
in_both = pytest.mark.usefixtures("database")


def later(seconds):
    return timezone.now() + timedelta(seconds=seconds)


@in_both
def test_a_job_goes_through_the_real_lifecycle(kind):
    hooked = []

    @kind("t.build", queue="slow", on_complete=lambda job, result: hooked.append((job.status, result)))
    def build(ctx, month, days=(28,)):
        ctx.progress(50, "half")
        return {"month": month, "days": days, "who": ctx.worker_name, "attempt": ctx.attempt}

    job_id = enqueue("t.build", {"month": 2}).job_id
    [job] = drain()
    assert (job.pk, job.status, job.attempt, job.progress, job.step) == (job_id, "completed", 1, 100, "half")
    assert job.result == {"month": 2, "days": [28], "who": "test", "attempt": 1}
    assert hooked == [("running", {"month": 2, "days": [28], "who": "test", "attempt": 1})]
    assert events_of(job) == ["enqueued", "claimed", "progressed", "completed"]
    assert Worker.objects.get().status == "offline"
    assert real_counts() == kept_counts()
    assert drain() == []


def test_in_the_order_of_claims_with_children_and_only_the_queue_that_was_asked_for(kind):
    ran = []

    @kind("t.note", queue="a")
    def note(ctx, name, child=None):
        ran.append(name)
        if child:
            enqueue("t.note", {"name": child}, priority=50)

    for name, priority, queue in [("low", -1, "a"), ("first", 5, "a"), ("elsewhere", 99, "b"), ("second", 5, "a")]:
        enqueue("t.note", {"name": name, "child": "child" if name == "first" else None}, priority=priority, queue=queue)
    assert [job.payload["name"] for job in drain("a")] == ran == ["first", "child", "second", "low"]
    assert [job.payload["name"] for job in drain(["b", "c"])] == ["elsewhere"]


def test_it_stops_where_it_is_told_to(kind):
    kind("t.count")(lambda ctx, n: n)
    enqueue_many(NewJob("t.count", {"n": n}) for n in range(6))
    assert [job.result for job in drain(max_jobs=2)] == [0, 1]
    assert [job.result for job in drain(until=lambda job: job.result == 3)] == [2, 3]
    with pytest.raises(NeverCameTrue, match=r"Jobs that were run: t.count \(completed\), t.count \(completed\)"):
        drain(until=lambda job: False)


def test_a_limit_that_is_none_is_refused():
    for wrong in (0, -1, True):
        with pytest.raises(InvalidInput, match="max_jobs"):
            drain(max_jobs=wrong)


def test_a_handler_that_enqueues_itself_for_ever_is_found_out(kind, monkeypatch):
    monkeypatch.setattr("jobs.testing.draining.MOST_JOBS", 5)
    kind("t.again")(lambda ctx: enqueue("t.again"))
    enqueue("t.again")
    with pytest.raises(TooManyJobs, match=r"5 jobs were run and more are ready, t\.again next"):
        drain()
    assert Job.objects.filter(status="completed").count() == 5


def test_what_is_scheduled_waits_unless_its_time_is_let_come_in_order(kind):
    @kind("t.later")
    def run(ctx, name):
        if name == "soon":
            enqueue("t.later", {"name": "soon's child"}, run_after=later(60))

    for name, seconds in [("late", 7200), ("soon", 10), ("middle", 3600)]:
        enqueue("t.later", {"name": name}, run_after=later(seconds))
    enqueue("t.later", {"name": "now"})
    assert [job.payload["name"] for job in drain()] == ["now"]
    assert [job.payload["name"] for job in drain(scheduled=True)] == ["soon", "soon's child", "middle", "late"]


def test_jobs_of_one_moment_come_by_priority_and_paused_queues_not_at_all(kind):
    kind("t.later")(lambda ctx, name: None)
    moment = later(60)
    for name, priority in [("low", 0), ("high", 9)]:
        enqueue("t.later", {"name": name}, run_after=moment, priority=priority)
    enqueue("t.later", {"name": "paused"}, run_after=later(50), queue="shut")
    enqueue("t.later", {"name": "elsewhere"}, run_after=later(50), queue="other")
    pause("shut")
    assert [job.payload["name"] for job in drain("default", scheduled=True)] == ["high", "low"]
    assert [job.payload["name"] for job in drain(scheduled=True)] == ["elsewhere"]
    assert [(job.status, job.hold) for job in Job.objects.filter(queue="shut")] == [("pending", "scheduled")]


@in_both
def test_what_a_handler_raises_is_recorded_and_raised(kind):
    @kind("t.break", max_attempts=2)
    def fail(ctx, why):
        raise ZeroDivisionError(why)

    enqueue("t.break", {"why": "no {reason}"})
    with pytest.raises(ZeroDivisionError, match=re.escape("no {reason}")) as caught:
        drain()
    assert any("t.break" in note for note in caught.value.__notes__)
    job = Job.objects.get()
    assert (job.status, job.attempt, job.last_error) == ("pending", 1, "ZeroDivisionError: no {reason}")
    assert "in fail" in job.last_traceback


def test_or_only_recorded_and_retried_until_attempts_are_used_up(kind):
    kind("t.break", max_attempts=3, backoff="fixed:60")(lambda ctx: 1 / 0)
    enqueue("t.break")
    assert [(job.status, job.attempt) for job in drain(raise_errors=False)] == [("pending", 1)]
    assert [(job.status, job.attempt) for job in drain(scheduled=True, raise_errors=False)] == [
        ("pending", 2),
        ("failed", 3),
    ]


def test_retry_later_is_no_error_and_fatal_is(kind):
    @kind("t.ask", max_attempts=2)
    def ask(ctx, patience):
        raise RetryLater(30) if patience else Fatal("never")

    enqueue("t.ask", {"patience": True})
    [job] = drain()
    assert (job.status, job.hold, job.attempt) == ("pending", "scheduled", 1)
    with pytest.raises(RetryLater):  # no attempt is left: now it is one
        drain(scheduled=True)
    enqueue("t.ask", {"patience": False})
    with pytest.raises(Fatal, match="never"):
        drain()
    assert list(Job.objects.order_by("id").values_list("status", flat=True)) == ["failed", "failed"]


def test_what_a_worker_finds_wrong_is_told_as_it_records_it(kind):
    def hook(job, result):
        raise RuntimeError("the hook")

    kind("t.hook", on_complete=hook, max_attempts=1)(lambda ctx: None)
    kind("t.gone")(lambda ctx: None)
    enqueue("t.hook", priority=3)
    enqueue("t.hook", {"surprise": 1}, priority=2, allow_unknown=True)
    enqueue("t.gone", priority=1)
    with pytest.raises(JobFailed, match=r"(?s)attempt 1 of 1: RuntimeError: the hook.*in hook"):
        drain()
    with pytest.raises(JobFailed, match=r"The payload does not fit the handler of 't\.hook'.*surprise"):
        drain()
    registry.remove("t.gone")
    with pytest.raises(JobFailed, match=r"UnknownKind: No handler is registered"):
        drain()


def test_ctrl_c_ends_the_test_whatever_was_asked_for(kind):
    @kind("t.stop")
    def stop(ctx):
        raise KeyboardInterrupt

    enqueue("t.stop")
    with pytest.raises(KeyboardInterrupt):
        drain(raise_errors=False)


def test_sys_exit_in_a_handler_is_a_failed_attempt(kind):
    kind("t.exit", max_attempts=1)(lambda ctx: exit(3))
    enqueue("t.exit")
    assert [job.status for job in drain(raise_errors=False)] == ["failed"]


@in_both
def test_phases_checkpoints_and_qualities_are_stored_and_resumed():
    made = Pipeline("t.pipe", max_attempts=3, backoff="fixed:0")
    seen: list[object] = []

    @made.phase("collect")
    def collect(ctx):
        seen.append("collect")
        return [1, 2]

    @made.phase("count")
    async def count(ctx):
        seen.append(("count", ctx.last_checkpoint, list(ctx.completed_qualities)))
        ctx.checkpoint({"at": ctx.attempt})
        ctx.quality("720p").start(segments=2)
        ctx.quality("720p").complete(bytes=5)
        ctx.progress(70)
        ctx.guard()
        if ctx.attempt == 1:
            raise ConnectionError("lost")
        return sum(ctx.phase_result("collect"))

    try:
        enqueue("t.pipe")
        first, second = drain(raise_errors=False)
    finally:
        registry.remove("t.pipe")
    assert seen == ["collect", ("count", None, []), ("count", {"at": 1}, ["720p"])]
    assert (first.status, second.status, second.result, second.checkpoint) == ("pending", "completed", 3, {"at": 2})
    assert [(phase.name, phase.status) for phase in second.phases.all()] == [
        ("collect", "completed"),
        ("count", "completed"),
    ]
    assert [(each.name, each.status, each.details) for each in second.qualities.all()] == [
        ("720p", "completed", {"bytes": 5})
    ]


def test_scratch_workdir_files_and_programs(kind, settings, tmp_path):
    settings.JOBS_WORK_DIR = str(tmp_path / "work")
    settings.MEDIA_ROOT = tmp_path / "media"
    seen: list[Path] = []

    @kind("t.files", max_attempts=2, backoff="fixed:0")
    def files(ctx):
        seen.extend([ctx.scratch, ctx.workdir])
        assert not list(ctx.scratch.iterdir())
        (ctx.scratch / "half").write_text("x")
        if ctx.attempt == 1:
            (ctx.workdir / "kept").write_text("by attempt 1")
            ctx.run(["sh", "-c", "echo broken >&2; exit 3"])
        out = ctx.run(["cat"], input="said").stdout
        ctx.files.put(ctx.workdir, "out")
        return [out, (ctx.workdir / "kept").read_text()]

    kind("t.look")(lambda ctx: [path.exists() for path in seen])  # in the same drain, after it
    enqueue("t.files")
    enqueue("t.look", priority=-1)
    with pytest.raises(CommandFailed, match="broken"):
        drain()
    job, look = drain()
    assert look.result == [False] * 4
    assert job.result == ["said", "by attempt 1"]
    assert (tmp_path / "media" / "out" / "kept").read_text() == "by attempt 1"
    assert not [path for path in seen if path.exists()]


def test_a_workdir_of_a_test_that_was_rolled_back_is_not_found(kind, settings, tmp_path):
    settings.JOBS_WORK_DIR = str(tmp_path)
    kind("t.look")(lambda ctx: sorted(os.listdir(ctx.workdir)))
    job_id = enqueue("t.look").job_id
    (tmp_path / "work" / str(job_id)).mkdir(parents=True)
    (tmp_path / "work" / str(job_id) / "of another test").touch()
    [job] = drain()
    assert job.result == []


def test_a_handler_that_is_cancelled_is_told_at_its_next_call(kind):
    reached = []

    @kind("t.cancelled", max_attempts=3)
    def run(ctx):
        ctx.progress(10)
        cancel(ctx.job_id)
        reached.append("cancelled")
        try:
            ctx.progress(20)
        except Cancelled:
            reached.append("told")
            raise
        reached.append("went on")

    enqueue("t.cancelled")
    [job] = drain()
    assert (job.status, job.progress, reached) == ("cancelled", 10, ["cancelled", "told"])


def test_time_limits_are_kept_at_the_next_call_or_at_the_end(kind):
    @kind("t.slow", max_attempts=1, max_runtime=0.05)
    def slow(ctx, asks):
        deadline = time.monotonic() + 5
        while asks and time.monotonic() < deadline:
            ctx.raise_if_cancelled()
        threading.Event().wait(0.06)
        return "too late"

    enqueue("t.slow", {"asks": True})
    enqueue("t.slow", {"asks": False})
    began = time.monotonic()
    for _ in range(2):
        with pytest.raises(JobFailed, match=r"Timeout after 0.05 s"):
            drain()
    assert time.monotonic() - began < 4
    assert list(Job.objects.values_list("status", "result")) == [("failed", None)] * 2


@in_both
def test_async_handlers_see_what_the_test_wrote_and_speak_from_their_loop(kind):
    @kind("t.async")
    async def run(ctx, n):
        before = await Job.objects.filter(pk=ctx.job_id).acount()
        ctx.checkpoint({"n": n})
        stored = (await Job.objects.aget(pk=ctx.job_id)).checkpoint
        said = await asyncio.to_thread(ctx.run, ["echo", "hello"])
        await asyncio.to_thread(ctx.checkpoint, {"n": n + 1})
        ctx.progress(60, "nearly")
        return [before, stored, said.stdout.strip()]

    enqueue("t.async", {"n": 1})
    [job] = drain()
    assert (job.status, job.result, job.checkpoint, job.step) == (
        "completed",
        [1, {"n": 1}, "hello"],
        {"n": 2},
        "nearly",
    )


@in_both
def test_a_plain_handler_may_run_an_event_loop_of_its_own_and_speak_from_it(kind):
    @kind("t.loop")
    def run(ctx):
        async def inner():
            ctx.checkpoint("from the loop")
            ctx.progress(40)
            ctx.guard()

        asyncio.run(inner())

    enqueue("t.loop")
    [job] = drain()
    assert (job.status, job.checkpoint) == ("completed", "from the loop")


class AsyncTests(JobsMixin, TestCase):
    async def test_drain_in_an_async_test(self):
        await sync_to_async(enqueue)("t.of_async_test", {"n": 3}, allow_unknown=True)

        async def run(ctx, n):
            ctx.checkpoint({"n": n})
            return await Job.objects.acount()

        registry.add(Kind("t.of_async_test", run))
        try:
            [job] = await sync_to_async(self.drain)()
        finally:
            registry.remove("t.of_async_test")
        assert (job.result, job.checkpoint) == (1, {"n": 3})


@in_both
def test_threads_of_a_handler_may_speak(kind):
    @kind("t.threads")
    def run(ctx):
        threads = [threading.Thread(target=ctx.checkpoint, args=[n]) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return ctx.last_checkpoint

    enqueue("t.threads")
    [job] = drain()
    assert job.result == job.checkpoint
    assert job.checkpoint in (0, 1, 2)


@in_both
def test_a_database_error_in_a_handler_does_not_take_the_test_down(kind):
    @kind("t.db", max_attempts=1)
    def run(ctx, raw):
        if raw:
            with connection.cursor() as cursor:
                cursor.execute("SELECT * FROM no_such_table")
        Job.objects.create(kind="t.db", queue="x", max_attempts=1, lease=timedelta(1), status="running")

    for raw in (False, True):
        enqueue("t.db", {"raw": raw})
    first, second = drain(raise_errors=False)
    assert (first.status, second.status) == ("failed", "failed")
    assert "IntegrityError" in first.last_error
    assert "no_such_table" in second.last_error


@in_both
def test_on_commit_of_a_handler_is_heard_and_a_durable_block_is_allowed(kind):
    heard = []

    @kind("t.commit")
    def run(ctx):
        with transaction.atomic(durable=True):
            transaction.on_commit(lambda: heard.append("committed"))
        try:
            with transaction.atomic():
                transaction.on_commit(lambda: heard.append("rolled back"))
                raise IntegrityError
        except IntegrityError:
            pass

    enqueue("t.commit")
    drain()
    assert heard == ["committed"]


@pytest.mark.django_db(transaction=True)
def test_on_commit_is_heard_once_where_a_transaction_does_commit(kind):
    heard = []
    kind("t.commit")(lambda ctx: transaction.on_commit(lambda: heard.append("committed")))
    with transaction.atomic():
        enqueue("t.commit")
        drain()
        assert heard == []
    assert heard == ["committed"]


@in_both
def test_the_jobs_of_a_block_are_run_when_it_ends(kind):
    order = []
    kind("t.block")(lambda ctx, n: order.append(n))
    with run_inline() as ran:
        with transaction.atomic():
            enqueue("t.block", {"n": 1})
        order.append("the block goes on")
        assert ran == []
    assert order == ["the block goes on", 1]
    assert [job.status for job in ran] == ["completed"]


def test_a_block_that_fails_runs_nothing(kind):
    kind("t.block")(lambda ctx: None)
    with pytest.raises(UnknownKind), run_inline():  # noqa: PT012  the second one fails
        enqueue("t.block")
        enqueue("t.blokc")
    assert reload(Job.objects.get()).status == "pending"
