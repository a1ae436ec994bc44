"""`ctx.run()`: programs in their own process group, which nothing leaves running."""

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jobs.exceptions import (
    Cancelled,
    ClaimLost,
    CommandFailed,
    CommandNotFound,
    CommandTimedOut,
    InvalidInput,
    ShuttingDown,
    StopRequested,
)
from jobs.handlers.commands import Commands
from jobs.handlers.context import Context
from jobs.handlers.output import KEPT, Kept, Lines
from jobs.handlers.process import Process
from tests.handlers.programs import PATIENT, STUBBORN, WAIT, Family, Interruption, Running, interrupt, python, shell
from tests.handlers.reporter import Flags, Remembering, a_claimed_job


@pytest.fixture
def flags() -> Flags:
    return Flags()


@pytest.fixture
def ctx(flags: Flags) -> Context:
    return Context(a_claimed_job(), Remembering(), flags)


# What goes in and comes out


def test_what_a_program_says_comes_back_as_text(ctx: Context):
    done = ctx.run(shell("echo out; echo gr\xfc\xdfe >&2"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "out\n", "grüße\n")


def test_no_shell_reads_the_arguments(ctx: Context):
    assert ctx.run(["printf", "%s|", "a b", "$HOME", "; exit 1"]).stdout == "a b|$HOME|; exit 1|"


def test_standard_input_is_closed_unless_something_is_given(ctx: Context):
    assert ctx.run(["cat"]).stdout == ""
    assert ctx.run(["cat"], input="größe").stdout == "größe"
    assert ctx.run(["cat"], input=b"\xff").stdout == "\ufffd"
    assert ctx.run(["cat"], input="").stdout == ""


def test_a_program_that_does_not_read_its_input_is_no_error(ctx: Context):
    assert ctx.run(["true"], input="x" * 5_000_000).returncode == 0


def test_much_in_and_much_out_at_once_do_not_block_each_other(ctx: Context):
    done = ctx.run(["cat"], input="0123456789" * 100_000)
    assert len(done.stdout) == 1_000_000


def test_environment_and_directory_can_be_given(ctx: Context, tmp_path: Path):
    done = ctx.run(["/bin/sh", "-c", "echo $COLOUR; pwd"], env={"COLOUR": "red"}, cwd=tmp_path)
    assert done.stdout == f"red\n{tmp_path}\n"


def test_of_a_huge_output_both_ends_are_kept_and_memory_stays_small(ctx: Context):
    program = "import sys\nprint('first')\nfor n in range(2000): sys.stdout.write('x' * 100_000)\nprint('last')"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    said = ctx.run(python(program)).stdout
    assert (said[:6], said[-5:], "bytes cut" in said) == ("first\n", "last\n", True)
    assert len(said) < KEPT + 100
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kilobytes; it said 200 MB


def test_lines_are_handed_on_as_they_come(ctx: Context, tmp_path: Path):
    """The program goes on only when its first line has been heard."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    heard: list[str] = []

    def hear(line: str) -> None:
        heard.append(line)
        if line == "frame=1":
            gate.write_text("go on")

    ctx.run(
        ["sh", "-c", 'printf "frame=1\\r\\n"; cat "$1" > /dev/null; printf "\\nend"', "sh", str(gate)], on_line=hear
    )
    assert heard == ["frame=1", "", "end"]


def test_a_line_that_never_ends_is_handed_on_in_pieces():
    heard: list[str] = []
    lines = Lines(heard.append)
    for _ in range(40):
        lines.feed(b"x" * 10_000)
    lines.end()
    assert len(heard) == 7
    assert sum(map(len, heard)) == 400_000


def test_what_is_kept_is_whole_up_to_the_limit():
    kept = Kept(limit=10)
    kept.feed(b"01234")
    kept.feed(b"56789")
    assert kept.text() == "0123456789"
    kept.feed(b"abc")
    assert kept.text() == "01234\n… [3 bytes cut] …\n89abc"


# Failures


def test_an_exit_code_other_than_zero_is_an_error_with_the_last_words(ctx: Context):
    with pytest.raises(CommandFailed) as caught:
        ctx.run(["sh", "-c", "echo one >&2; echo no such codec >&2; exit 3", "--password=hunter2"])
    assert str(caught.value) == "sh failed: exit code 3. It said: no such codec\nBefore that:\none"
    assert caught.value.returncode == 3


def test_of_long_last_words_the_end_is_told(ctx: Context):
    with pytest.raises(CommandFailed) as caught:
        ctx.run(shell("seq 1000 >&2; exit 1"))
    assert "It said: 1000\nBefore that:\n991\n" in str(caught.value)
    assert str(caught.value).endswith("\n998\n999")
    assert len(str(caught.value)) < 100


def test_a_signal_that_ended_it_is_named(ctx: Context):
    with pytest.raises(CommandFailed, match=r"sh failed: killed by SIGSEGV\.$"):
        ctx.run(shell("kill -SEGV $$"))


def test_without_check_the_exit_code_is_the_callers_to_judge(ctx: Context):
    assert ctx.run(shell("exit 3"), check=False).returncode == 3


def test_a_program_that_cannot_be_started_is_told_of(ctx: Context, tmp_path: Path):
    with pytest.raises(CommandNotFound, match="'fmpeg' could not be started: there is none of this name; install it"):
        ctx.run(["fmpeg", "-i", "in.mp4"])
    with pytest.raises(CommandNotFound, match=r"there is no directory '.*/gone' to run it in"):
        ctx.run(["true"], cwd=tmp_path / "gone")
    (tmp_path / "text").write_text("no program")
    with pytest.raises(CommandNotFound, match="Permission denied"):
        ctx.run([tmp_path / "text"])


@pytest.mark.parametrize("argv", ["ls -l", b"ls", [], Path("/bin/ls")])
def test_a_command_is_a_list(ctx: Context, argv):
    with pytest.raises(InvalidInput, match="takes a list, the program and its arguments"):
        ctx.run(argv)


# Ends


def test_a_timeout_ends_it(ctx: Context):
    family = Family()
    with pytest.raises(CommandTimedOut, match=r"sh was ended because it ran longer than its timeout of 0.3 s"):
        ctx.run(shell(PATIENT), timeout=0.3, on_line=family.hear)
    family.wait_until_gone()


ORDERS = [("cancelled", Cancelled), ("shutting_down", ShuttingDown), ("lost", ClaimLost)]


@pytest.mark.parametrize(("flag", "error"), ORDERS)
def test_an_order_to_stop_ends_it_with_all_its_children(ctx: Context, flags: Flags, flag, error):
    family = Family(then=lambda: setattr(flags, flag, True))
    with pytest.raises(error):
        ctx.run(shell(PATIENT), on_line=family.hear)
    family.wait_until_gone()


@pytest.mark.parametrize(("flag", "error"), ORDERS)
def test_after_an_order_to_stop_nothing_is_started(ctx: Context, flags: Flags, flag, error, tmp_path: Path):
    setattr(flags, flag, True)
    with pytest.raises(error):
        ctx.run(["touch", str(tmp_path / "trace")])
    assert not (tmp_path / "trace").exists()


def test_who_ignores_the_request_to_end_is_killed(ctx: Context, flags: Flags):
    family = Family(then=lambda: setattr(flags, "cancelled", True))
    with pytest.raises(Cancelled):
        ctx.run(shell(STUBBORN), on_line=family.hear)
    family.wait_until_gone()


def test_who_takes_the_chance_to_tidy_up_may(ctx: Context, flags: Flags, tmp_path: Path):
    family = Family(then=lambda: setattr(flags, "cancelled", True), members=1)
    script = 'trap "echo tidy > \\"$1\\"; exit 0" TERM; echo $$; while :; do sleep 300 & wait $!; done'
    with pytest.raises(Cancelled):
        ctx.run(["sh", "-c", script, "sh", str(tmp_path / "trace")], on_line=family.hear)
    assert (tmp_path / "trace").read_text() == "tidy\n"
    family.wait_until_gone()


def test_an_exception_raised_in_its_thread_from_outside_ends_it(ctx: Context):
    family = Family()
    running = Running(lambda: ctx.run(shell(PATIENT), on_line=family.hear))
    assert family.all_told.wait(WAIT)
    interrupt(running)
    assert isinstance(running.ended().error, Interruption)
    family.wait_until_gone()


def test_an_exception_that_comes_during_the_patience_kills_at_once(ctx: Context, monkeypatch):
    """A handler must not outlive a second, less friendly order because its program is slow to end."""
    patient = threading.Event()
    waiting = Process.wait_for_exit

    def wait_for_exit(process: Process, seconds: float) -> bool:
        patient.set()
        if running.error is None and not interrupted.wait(WAIT):
            raise AssertionError
        return waiting(process, seconds)

    interrupted = threading.Event()
    family = Family()
    monkeypatch.setattr(Process, "wait_for_exit", wait_for_exit)
    running = Running(lambda: ctx.run(shell(STUBBORN), timeout=0.3, on_line=family.hear))
    assert patient.wait(WAIT)
    interrupt(running)
    interrupted.set()
    assert isinstance(running.ended().error, Interruption)
    family.wait_until_gone()


def test_an_error_in_on_line_ends_it(ctx: Context):
    def fail() -> None:
        raise ValueError("not a number")

    family = Family(then=fail)
    with pytest.raises(ValueError, match="not a number"):
        ctx.run(shell(PATIENT), on_line=family.hear)
    family.wait_until_gone()


def test_whoever_looks_at_it_may_end_it(ctx: Context):
    looks = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            raise RuntimeError("it does not get on")

    with pytest.raises(RuntimeError, match="does not get on"):
        ctx.run(["sleep", "60"], on_look=look)


def test_what_a_program_leaves_in_the_background_ends_with_it(ctx: Context):
    family = Family(members=1)
    ctx.run(shell("sleep 300 & echo $!"), on_line=family.hear)
    family.wait_until_gone()


def test_a_worker_that_ignores_signals_does_not_make_its_programs_deaf(ctx: Context, flags: Flags):
    """Otherwise each would have to be killed, and could not tidy up."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        said = ctx.run(python("import signal; print(signal.getsignal(15).name, signal.pthread_sigmask(0, []))")).stdout
    finally:
        signal.signal(signal.SIGTERM, before)
    assert said == "SIG_DFL set()\n"


PARENT = """
import sys
from jobs.handlers.commands import Commands
Commands(lambda: None).run(["sh", "-c", "echo $$; exec sleep 300"], on_line=lambda line: print(line, flush=True))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's death")
def test_it_dies_with_the_process_that_runs_it():
    family = Family(members=1)
    parent = subprocess.Popen(python(PARENT), stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout
        family.hear(parent.stdout.readline())
        parent.kill()
        parent.wait(WAIT)
        family.wait_until_gone()


def test_it_does_not_hold_what_was_open_here(ctx: Context):
    """A program that inherits a worker's pipe would keep it open after the worker is gone."""
    reader, writer = os.pipe()
    try:
        os.set_inheritable(writer, True)
        assert ctx.run(["sh", "-c", f"test -e /proc/self/fd/{writer}"], check=False).returncode == 1
    finally:
        os.close(reader)
        os.close(writer)


def test_no_file_is_left_open(ctx: Context):
    ctx.run(["true"])
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        ctx.run(["cat"], input="x")
        with pytest.raises(CommandNotFound):
            ctx.run(["no such program"])
    assert len(os.listdir("/proc/self/fd")) == before


# Ended with the call


def test_a_handler_that_ends_takes_the_programs_of_its_threads_with_it(ctx: Context):
    family = Family()
    threads: list[Running] = []

    def handle(ctx: Context) -> str:
        threads.append(Running(lambda: ctx.run(shell(PATIENT), on_line=family.hear)))
        assert family.all_told.wait(WAIT)
        return "done"

    assert ctx.call(handle) == "done"
    assert isinstance(threads[0].ended().error, StopRequested)
    family.wait_until_gone()


def test_what_is_closed_starts_nothing(tmp_path: Path):
    commands = Commands(lambda: None)
    commands.close()
    with pytest.raises(StopRequested, match="The attempt is over"):
        commands.run(["touch", str(tmp_path / "trace")])
    assert not (tmp_path / "trace").exists()
