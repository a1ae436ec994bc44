"""Kinds that tell a test what they do by lines in a history, and wait for a file where they should take long."""

import asyncio
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from jobs import Fatal, WaitFor, handler, pipeline
from jobs.exceptions import Cancelled, ClaimLost, InvalidInput
from jobs.handlers.context import Context
from tests.app.history import note

LONGEST_WAIT = 30.0  # a test that forgot its handler must not leave it running


def wait_for_file(gate: str) -> None:
    deadline = time.monotonic() + LONGEST_WAIT
    while not Path(gate).exists():
        assert time.monotonic() < deadline, "nobody opened the gate"
        time.sleep(0.005)


@handler("app.short")
def short(ctx: Context, history: str, gate: str) -> None:
    note(history, "start", ctx)
    note(history, "end", ctx)


@handler("app.long")
def long(ctx: Context, history: str, gate: str) -> str:
    """Says nothing until its gate is open, then reports and ends."""
    note(history, "start", ctx)
    wait_for_file(gate)
    ctx.progress(50, "gate is open")
    note(history, "end", ctx)
    return "done"


@handler("app.filling")
def filling(ctx: Context, history: str, gate: str) -> None:
    """Writes to a disk that has no room."""
    note(history, "start", ctx)
    Path("/dev/full").write_bytes(b"x")


@handler("app.chatty")
def chatty(ctx: Context, history: str, gate: str) -> None:
    """Reports for ever: only an order ends it. A report that packets were lost of keeps its row locked for 30 s."""
    note(history, "start", ctx)
    deadline = time.monotonic() + 3 * LONGEST_WAIT
    while time.monotonic() < deadline:
        ctx.progress(10)
        time.sleep(0.005)


@handler("app.saving")
def saving(ctx: Context, history: str, gate: str) -> None:
    """Says how far it is, and waits until that is stored."""
    note(history, "start", ctx)
    ctx.progress(50)
    ctx.checkpoint({"half": True})
    note(history, "end", ctx)


@handler("app.flaky")
def flaky(ctx: Context, history: str, gate: str, works_at: int) -> str:
    note(history, "start", ctx)
    if ctx.attempt < works_at:
        raise RuntimeError(f"attempt {ctx.attempt} does not work")
    return f"worked at {ctx.attempt}"


@handler("app.resuming")
def resuming(ctx: Context, history: str, gate: str) -> Any:
    """Stores a checkpoint the first time; returns what the attempt before it had stored."""
    found = ctx.last_checkpoint
    if found is None:
        ctx.checkpoint({"read": 4711})
    note(history, "start", ctx)
    wait_for_file(gate)
    return found


def hang(job: Any, result: Any) -> None:
    """A hook, run by the worker itself."""
    wait_for_file(job.payload["gate"])


@handler("app.hooked", on_complete=hang)
def hooked(ctx: Context, history: str, gate: str) -> None:
    ctx.progress(40)
    note(history, "start", ctx)
    note(history, "end", ctx)


@handler("app.alone", isolation="process")
def alone(ctx: Context, history: str, gate: str) -> None:
    note(history, "start", ctx)
    wait_for_file(gate)
    note(history, "end", ctx)


@handler("app.exclusive", exclusive=True)
def exclusive(ctx: Context, history: str, gate: str) -> None:
    note(history, "start", ctx)
    try:
        wait_for_file(gate)
    except BaseException:
        note(history, "stopped", ctx)
        raise
    note(history, "end", ctx)


@handler("app.async")
async def asynchronous(ctx: Context, history: str, gate: str) -> str:
    note(history, "start", ctx)
    deadline = time.monotonic() + LONGEST_WAIT
    while not Path(gate).exists():
        assert time.monotonic() < deadline, "nobody opened the gate"
        await asyncio.sleep(0.005)
    ctx.progress(50)
    note(history, "end", ctx)
    return "awaited"


@handler("app.greedy")
def greedy(ctx: Context, history: str, gate: str, seconds: float) -> None:
    """Holds the GIL all the time, in one call that nothing interrupts."""
    began = time.monotonic()
    sum(range(10**7))
    enough = int(10**7 * seconds / (time.monotonic() - began))
    note(history, "start", ctx)
    sum(range(enough))
    note(history, "end", ctx)


@handler("app.deaf")
def deaf(ctx: Context, history: str, gate: str) -> None:
    """Ignores whatever it is told, and whatever is raised in it."""
    note(history, "start", ctx)
    deadline = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < deadline:
        with suppress(BaseException):
            time.sleep(0.01)


@handler("app.stalled", stall_timeout=0.5)
def stalled(ctx: Context, history: str, gate: str) -> None:
    """Reports for a while, so that it is not over too soon, and then says nothing."""
    note(history, "start", ctx)
    for percent in range(20):
        ctx.progress(percent)
        time.sleep(0.05)
    note(history, "quiet", ctx)
    wait_for_file(gate)


@handler("app.littering")
def littering(ctx: Context, history: str, gate: str, how: str, waits: bool = False) -> int:
    """Starts a program and leaves it behind; returns its pid."""
    pid = LITTERING[how]()
    ctx.checkpoint(pid)
    note(history, "start", ctx)
    if waits:
        wait_for_file(gate)
    return pid


def plain_child() -> int:
    return subprocess.Popen(["sleep", "300"]).pid


def child_of_its_own_session() -> int:
    return subprocess.Popen(["sleep", "300"], start_new_session=True).pid


def daemon() -> int:
    """Its parent exits at once, as daemons' do."""
    shell = "setsid sleep 300 >/dev/null 2>&1 & echo $!"
    return int(subprocess.run(["sh", "-c", shell], capture_output=True, check=True, text=True).stdout)


LITTERING = {"plain": plain_child, "session": child_of_its_own_session, "daemon": daemon}


@handler("app.folders")
def folders(ctx: Context, history: str, gate: str, fails_first: bool = False) -> dict[str, object]:
    """Writes into both of its folders; what an earlier attempt left is told."""
    left = sorted(path.name for path in ctx.workdir.iterdir()), sorted(path.name for path in ctx.scratch.iterdir())
    for folder in (ctx.workdir, ctx.scratch):
        (folder / f"attempt-{ctx.attempt}").touch()
    note(history, "start", ctx)
    if fails_first and ctx.attempt == 1:
        raise RuntimeError("try again")
    return {"left": left, "workdir": str(ctx.workdir), "scratch": str(ctx.scratch)}


@handler("app.talkative")
def talkative(ctx: Context, history: str, gate: str, times: int) -> None:
    note(history, "start", ctx)
    for number in range(times):
        ctx.progress(100 * number / times, f"step {number}")
    note(history, "end", ctx)


@handler("app.poison")
def poison(ctx: Context, history: str, gate: str) -> None:
    note(history, "start", ctx)
    os.kill(os.getpid(), signal.SIGKILL)


phased = pipeline("app.phased")


@phased.phase("first")
def first(ctx: Context, history: str, gate: str) -> str:
    note(history, "first", ctx)
    return "of the first"


@phased.phase("second")
def second(ctx: Context, history: str, gate: str) -> str:
    note(history, "second", ctx)
    wait_for_file(gate)
    return ctx.phase_result("first") + ", and the second"


@phased.phase("third")
def third(ctx: Context, history: str, gate: str) -> str:
    note(history, "third", ctx)
    return ctx.phase_result("second") + ", and the third"


chatty_phases = pipeline("app.chatty_phase")


@chatty_phases.phase("talks")
def talks(ctx: Context, history: str, gate: str) -> None:
    note(history, "talks", ctx)
    deadline = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < deadline:
        ctx.progress(10)
        time.sleep(0.005)


@handler("app.hoarding")
def hoarding(ctx: Context, history: str, gate: str, size: int) -> str:
    try:
        ctx.checkpoint("x" * size)
    except InvalidInput as error:
        return str(error)
    return "it was stored"


@handler("app.odd_result")
def odd_result(ctx: Context, history: str, gate: str) -> dict[str, object]:
    return {"odd": threading.Lock()}


@handler("app.hostile")
def hostile(ctx: Context, history: str, gate: str, how: str) -> str:
    note(history, "start", ctx)
    HOSTILE[how](ctx)
    note(history, "end", ctx)
    return "done"


def raise_cancelled(ctx: Context) -> None:
    raise Cancelled(job_id=ctx.job_id)


def raise_lost(ctx: Context) -> None:
    raise ClaimLost(job_id=ctx.job_id)


class Unprintable(BaseException):
    def __str__(self) -> str:
        raise self


def raise_unprintable(ctx: Context) -> None:
    raise Unprintable


def say_no_text(ctx: Context) -> None:
    ctx.progress(5, threading.Lock())  # type: ignore[arg-type]  # as an untyped handler might
    ctx.quality([1]).start()  # type: ignore[arg-type]


def close_folder(ctx: Context) -> None:
    """By which its process finds back to where it began."""
    for entry in list(Path("/proc/self/fd").iterdir()):
        with suppress(FileNotFoundError):
            if os.readlink(entry) == os.getcwd():
                os.close(int(entry.name))


def fork_and_return(ctx: Context) -> None:
    os.fork()


def move_into_scratch(ctx: Context) -> None:
    os.chdir(ctx.scratch)
    os.umask(0o777)
    signal.setitimer(signal.ITIMER_REAL, 0.2)


HOSTILE: dict[str, Callable[[Context], object]] = {
    "exits with 75": lambda ctx: os._exit(75),
    "raises Cancelled": raise_cancelled,
    "raises ClaimLost": raise_lost,
    "raises what cannot be printed": raise_unprintable,
    "closes the way back": close_folder,
    "closes every file": lambda ctx: os.closerange(0, 1000),
    "says what is no text": say_no_text,
    "forks and returns": fork_and_return,
    "leaves a mess": move_into_scratch,
}


@handler("app.eloquent")
def eloquent(ctx: Context, history: str, gate: str) -> dict[str, object]:
    """Says all that a handler can say; fails the first time, and tells what the second attempt was given."""
    note(history, "start", ctx)
    if ctx.attempt > 1:
        return {"checkpoint": ctx.last_checkpoint, "qualities": sorted(ctx.completed_qualities), "text": "\ud83c ü \0"}
    ctx.quality("720p").start(segments=4)
    ctx.quality("720p").complete(fps=25)
    ctx.quality("1080p").skip("larger than the source")
    ctx.checkpoint({"read": [1, 2, {"deep": None}]})
    ctx.progress(40, "half way")
    ctx.guard()
    raise RuntimeError("try again")


@handler("app.parent", spawns="app.flaky")
def parent(ctx: Context, history: str, gate: str) -> object:
    """Splits its work up, and waits for it without a slot."""
    said = {"history": history, "gate": gate}
    made = [ctx.spawn("app.flaky", {**said, "works_at": 1}, key=name) for name in ("left", "right")]
    note(history, "start", ctx)
    if not all(child.ended for child in made):
        return WaitFor(made)
    return [child.result for child in made]


@handler("app.fatal")
def fatal(ctx: Context, history: str, gate: str) -> None:
    note(history, "start", ctx)
    raise Fatal("This cannot be done.")


@handler("app.careful", exclusive=True)
def careful(ctx: Context, history: str, gate: str) -> object:
    """Must never run twice at once, and goes on where it was cut off."""
    note(history, "start", ctx)
    found = ctx.last_checkpoint
    ctx.checkpoint({"attempts": 1 if found is None else found["attempts"] + 1})
    wait_for_file(gate)
    note(history, "end", ctx)
    return ctx.last_checkpoint


@handler("app.printing")
def printing(ctx: Context, history: str, gate: str) -> None:
    print("said by the handler", flush=True)  # noqa: T201  as handlers do
    subprocess.run(["sh", "-c", "echo said by its program"], check=True)
