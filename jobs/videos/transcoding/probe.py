"""What a source is, asked of a child process: whatever the file does to its reader, it does it there."""

import json
import os
import signal
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.exceptions import CommandFailed, CommandTimedOut
from jobs.handlers.commands import Argument, Run
from jobs.videos.transcoding.confined import confinement, environment_of_python
from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.source import Source
from jobs.videos.transcoding.told import SOURCE, believed

CHILD = "jobs.videos.transcoding.probe_child"


@dataclass(frozen=True)
class Limits:
    """What looking at a file may take. Without harm it takes a tenth of a second and 150 MB."""

    seconds: float = 60.0
    cpu_seconds: int = 20
    memory: int = 2 << 30  # bytes of address space: enough for a few pictures of 8K

    def as_options(self) -> list[str]:
        return [f"--cpu-seconds={self.cpu_seconds}", f"--memory={self.memory}"]


LIMITS = Limits()
TOO_LONG = "Looking at it took longer than {seconds:g} s."
TOO_BUSY = "Looking at it took too much computing."
CRASHED = "Looking at it crashed the reader: it is damaged, or made to do so."
# What the file did to its reader. Other signals come from people, or from a machine short of memory: it is tried again.
BECAUSE_OF_THE_FILE: dict[int, str] = {
    signal.SIGXCPU: TOO_BUSY,
    **dict.fromkeys((signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL), CRASHED),
}


def probe(path: Path, run: Run, limits: Limits = LIMITS) -> Source:
    """The facts. Raises Refused when the file is at fault, OSError when it is missing or its disk fails."""
    about = path.stat()
    if not stat.S_ISREG(about.st_mode):
        raise Refused(why="It is not a file.")
    if not about.st_size:
        raise Refused(why="The file is empty.")
    answer = ask_child(path, run, limits)
    if "refused" in answer:
        raise Refused(why=answer["refused"])
    if "errno" in answer:
        raise OSError(answer["errno"], os.strerror(answer["errno"]), str(path))
    return believed(SOURCE, answer["source"])


def count_frames(path: Path, run: Run, limits: Limits = LIMITS) -> int:
    """Of a chunk that another worker made; 0 where it is no whole MP4."""
    return int(ask_child(path, run, limits, "--count-frames")["frames"])


def ask_child(path: Path, run: Run, limits: Limits, *options: str) -> dict[str, Any]:
    argv: list[Argument] = [sys.executable, "-m", CHILD, *limits.as_options(), *options, "--", path]
    try:
        said = run(argv, timeout=limits.seconds, env=environment_of_python(), confinement=confinement())
    except CommandTimedOut as error:
        raise Refused(why=TOO_LONG.format(seconds=limits.seconds)) from error
    except CommandFailed as error:
        if why := BECAUSE_OF_THE_FILE.get(-(error.returncode or 0)):
            raise Refused(why=why) from error
        raise
    answer: dict[str, Any] = json.loads(said.stdout)
    return answer
