"""Runs ffmpeg: behind everything else, watched for a full disk and for a standstill, its failures told apart."""

import signal
from math import ceil
from pathlib import Path

from jobs.exceptions import CommandFailed
from jobs.machine import cpu_count
from jobs.videos.transcoding.commands import Command
from jobs.videos.transcoding.confined import confinement, environment
from jobs.videos.transcoding.disk import RESERVE, require_room
from jobs.videos.transcoding.errors import DiskFull, Refused
from jobs.videos.transcoding.progress import Gauge
from jobs.videos.transcoding.task import Task

NICE = 10
# The packaged ffmpeg is linked statically: a converter of texts that it would load from the system crashes it.
NO_CONVERTERS = {"GCONV_PATH": "/nonexistent"}
INVALID_DATA = 183  # what it exits with then; of what it said only the last lines are at hand
NO_ROOM = ("No space left on device", "Disk quota exceeded")
OVER_LIMIT: dict[int, str] = {
    signal.SIGXCPU: "It takes more computing than any video of its length.",
    signal.SIGXFSZ: "More came out of it than of any video of its length.",
}
# What ffmpeg says of a source that no other try will make better.
DAMAGED = (
    "Invalid data found",
    "partial file",
    "moov atom not found",
    "Error submitting packet to decoder",
    "corrupt",
    "truncat",
)


def run_ffmpeg(task: Task, argv: Command, timeout: float, gauge: Gauge | None = None, cwd: Path | None = None) -> None:
    def look() -> None:
        if gauge:
            gauge.check()
        require_room(task.folder, RESERVE)

    limits = confinement(cpu_seconds=ceil(timeout * cpu_count()), file_size=task.largest_file)
    try:
        task.run(
            argv, timeout=timeout, on_line=gauge.feed if gauge else None, on_look=look, nice=NICE,
            env=environment() | NO_CONVERTERS, cwd=cwd, confinement=limits,
        )  # fmt: skip
    except CommandFailed as error:
        raise meaning_of(error, argv, task) from error


def meaning_of(error: CommandFailed, argv: Command, task: Task) -> Exception:
    """The same error, or one that says more; only the source's own fault is one for good."""
    said = str(error).replace(str(task.path), "")  # what somebody called it is no evidence
    if any(words in said for words in NO_ROOM):
        return DiskFull(folder=task.folder, free="nothing", needed="more")
    if why := OVER_LIMIT.get(-(error.returncode or 0)):
        return Refused(why=why)
    was_killed = (error.returncode or -1) < 0  # by people, or for want of memory; or it never ran
    if was_killed or f"file:{task.path}" not in argv or not task.path.exists():
        return error
    damage = damage_in(said)
    if damage or error.returncode == INVALID_DATA:
        return Refused(why=f"It is damaged. ffmpeg says: {damage or said.splitlines()[-1]}")
    return error


def damage_in(said: str) -> str:
    """The line in which ffmpeg says that the source is broken; empty if it says no such thing."""
    lines = (line.strip() for line in said.splitlines())
    return next((line for line in lines if any(sign in line for sign in DAMAGED)), "")
