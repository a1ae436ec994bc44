"""`ctx.run()`: programs that a handler runs, watched for the order to stop, and ended with the call that began them."""

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from jobs.exceptions import CommandFailed, CommandNotFound, CommandTimedOut, InvalidInput, StopRequested
from jobs.handlers.confinement import Confinement
from jobs.handlers.output import Kept, Lines, last_words
from jobs.handlers.process import PATIENCE, Process, signal_name

LOOK_EVERY = 0.2  # seconds, at most, until an order to stop is seen
LOOK_OFTEN = 0.05  # where the system cannot tell us that a process exited
CHUNK = 64 * 1024
LAST_CHUNKS = 32  # more than any pipe holds

Argument = str | bytes | os.PathLike[Any]
OnLine = Callable[[str], object]
OnLook = Callable[[], object]


@dataclass(frozen=True)
class CommandResult:
    """What became of a command; of a very long output the middle is cut out."""

    args: tuple[Argument, ...]
    returncode: int
    stdout: str
    stderr: str


class Run(Protocol):
    """What runs a program, as `ctx.run` does."""

    def __call__(
        self,
        argv: Sequence[Argument],
        *,
        timeout: float | None = None,
        check: bool = True,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        on_line: OnLine | None = None,
        on_look: OnLook | None = None,
        nice: int = 0,
        confinement: Confinement | None = None,
    ) -> CommandResult: ...


class Commands:
    """The commands of one call of a handler, in whichever of its threads they run."""

    def __init__(self, raise_if_stopped: Callable[[], None]) -> None:
        self._raise_if_stopped = raise_if_stopped
        self._running: set[Process] = set()
        self._closed = False

    def run(
        self,
        argv: Sequence[Argument],
        *,
        timeout: float | None = None,
        check: bool = True,
        input: str | bytes | None = None,  # noqa: A002  as in subprocess.run()
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        on_line: OnLine | None = None,
        on_look: OnLook | None = None,
        nice: int = 0,
        confinement: Confinement | None = None,
    ) -> CommandResult:
        arguments = checked(argv)
        self._look()
        process = Process()
        self._running.add(process)
        try:
            start(process, arguments, env, cwd, has_input=input is not None, nice=nice, confinement=confinement)
            talk = Conversation(process, input, on_line)
            self._attend(talk, arguments, timeout, on_look)
        finally:
            self._end(process)
        result = CommandResult(arguments, process.returncode, talk.stdout.text(), talk.stderr.text())
        if result.returncode:
            self._look()  # it may have been ended for us by another thread
        if result.returncode and check:
            raise failure(result)
        return result

    def close(self) -> None:
        """End what still runs, in whichever thread; nothing more is started."""
        self._closed = True
        if not self._running:
            return
        running = list(self._running)
        for process in running:
            process.signal_group(signal.SIGTERM)
        deadline = monotonic() + PATIENCE
        for process in running:
            process.end(patience=max(0.0, deadline - monotonic()))

    def _end(self, process: Process) -> None:
        try:
            process.end()
        finally:
            process.release()
            self._running.discard(process)

    def _look(self) -> None:
        self._raise_if_stopped()
        if self._closed:
            raise StopRequested("The attempt is over.")

    def _attend(
        self, talk: "Conversation", argv: Sequence[Argument], timeout: float | None, on_look: OnLook | None
    ) -> None:
        deadline = None if timeout is None else monotonic() + timeout
        with talk:
            while not talk.process.has_exited():
                self._look()
                if on_look:
                    on_look()
                left = LOOK_EVERY if deadline is None else deadline - monotonic()
                if left <= 0:
                    words = last_words(talk.stderr.text())
                    raise CommandTimedOut(program=os.fsdecode(argv[0]), seconds=timeout, last_words=words)
                talk.go_on(min(left, LOOK_EVERY))
            talk.hear_the_rest()


class Conversation:
    """What is said to a process and what it says, in one thread and without ever blocking on either."""

    def __init__(self, process: Process, said: str | bytes | None, on_line: OnLine | None) -> None:
        self.process = process
        self.stdout, self.stderr = Kept(), Kept()
        self._lines = Lines(on_line) if on_line else None
        self._to_say = memoryview(said.encode() if isinstance(said, str) else said or b"")
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> None:
        process = self.process
        for pipe, feed in ((process.stdout, self._hear_stdout), (process.stderr, self.stderr.feed)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, feed)
        if process.stdin:
            os.set_blocking(process.stdin.fileno(), False)
            self._selector.register(process.stdin, selectors.EVENT_WRITE)
        if process.exit_watch:
            self._selector.register(process.exit_watch, selectors.EVENT_READ)

    def __exit__(self, *_: object) -> None:
        self._selector.close()

    def go_on(self, seconds: float) -> None:
        """Wait for something to happen, and deal with it."""
        for key, _ in self._selector.select(seconds if self.process.exit_watch else min(seconds, LOOK_OFTEN)):
            if key.fileobj is self.process.stdin:
                self._say()
            elif key.data:
                self._hear(key)

    def hear_the_rest(self) -> None:
        """What was said before the exit is heard; what others of its group would still say is not waited for."""
        for key in list(self._selector.get_map().values()):
            for _ in range(LAST_CHUNKS if key.data else 0):
                if not self._hear(key):
                    break
        if self._lines:
            self._lines.end()

    def _say(self) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        try:
            self._to_say = self._to_say[os.write(stdin.fileno(), self._to_say[:CHUNK]) :]
        except BlockingIOError:
            return
        except BrokenPipeError:  # it does not want to hear the rest
            self._to_say = self._to_say[:0]
        if not self._to_say:
            self._selector.unregister(stdin)
            stdin.close()

    def _hear(self, key: selectors.SelectorKey) -> bool:
        try:
            chunk = os.read(key.fd, CHUNK)
        except BlockingIOError:
            return False
        if chunk:
            key.data(chunk)
        else:
            self._selector.unregister(key.fileobj)
        return bool(chunk)

    def _hear_stdout(self, chunk: bytes) -> None:
        self.stdout.feed(chunk)
        if self._lines:
            self._lines.feed(chunk)


def checked(argv: Sequence[Argument]) -> tuple[Argument, ...]:
    if isinstance(argv, (str, bytes, os.PathLike)) or not argv:
        raise InvalidInput(f"ctx.run() takes a list, the program and its arguments, not {argv!r}: there is no shell.")
    return tuple(argv)


def start(
    process: Process,
    argv: Sequence[Argument],
    env: Mapping[str, str] | None,
    cwd: str | os.PathLike[str] | None,
    has_input: bool,
    nice: int,
    confinement: Confinement | None,
) -> None:
    stdin = subprocess.PIPE if has_input else subprocess.DEVNULL
    try:
        process.start(
            argv, nice, confinement, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd
        )
    except OSError as error:
        raise CommandNotFound(program=os.fsdecode(argv[0]), why=why_not(error, cwd)) from error


def why_not(error: OSError, cwd: str | os.PathLike[str] | None) -> str:
    if cwd is not None and not os.path.isdir(cwd):
        return f"there is no directory {os.fspath(cwd)!r} to run it in"
    if isinstance(error, FileNotFoundError):
        return "there is none of this name; install it, or give its full path"
    return error.strerror or str(error)


def failure(result: CommandResult) -> CommandFailed:
    code = result.returncode
    how = f"exit code {code}" if code > 0 else f"killed by {signal_name(-code)}"
    program, words = os.fsdecode(result.args[0]), last_words(result.stderr)
    return CommandFailed(program=program, how=how, last_words=words, returncode=code)
