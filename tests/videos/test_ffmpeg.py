"""What it means that ffmpeg failed: only a source's own fault is one for good."""

import os
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from jobs.exceptions import CommandFailed
from jobs.handlers.commands import CommandResult, Commands
from jobs.videos.transcoding.errors import DiskFull, Refused
from jobs.videos.transcoding.ffmpeg import meaning_of, run_ffmpeg
from jobs.videos.transcoding.source import Source, VideoStream
from jobs.videos.transcoding.task import Task


@pytest.fixture
def task(tmp_path: Path) -> Task:
    path = tmp_path / "truncated corrupt.mp4"  # what somebody called it
    path.touch()
    source = Source("mov", 10.0, 1, VideoStream(0, "h264", 320, 180, Fraction(30)))
    return Task(source, path, "sources/1/a.mp4", tmp_path, "attempt", Commands(lambda: None).run)


def meaning(task: Task, said: str, code: int = 1, reads_source: bool = True) -> Exception:
    error = CommandFailed(program="ffmpeg", how=f"exit code {code}", last_words=f" It said:\n{said}", returncode=code)
    argv = ["ffmpeg", "-i", f"file:{task.path}" if reads_source else "file:/chunks.txt"]
    return meaning_of(error, argv, task)


@pytest.mark.parametrize(
    "said",
    ["[mov] stream 0, offset 0x30: partial file", "x: Invalid data found when", "moov atom not found"],
)
def test_a_damaged_source_is_refused_with_what_ffmpeg_says(task: Task, said: str):
    found = meaning(task, f"first\n{said}\nlast")
    assert isinstance(found, Refused)
    assert said in str(found)


def test_so_is_one_of_which_only_the_exit_code_tells(task: Task):
    found = meaning(task, "[h264] Invalid NAL unit size (0 > 2242).", code=183)
    assert isinstance(found, Refused)
    assert "Invalid NAL unit size" in str(found)


def test_what_a_source_is_called_is_no_evidence(task: Task):
    assert isinstance(meaning(task, f"Error opening input file file:{task.path}."), CommandFailed)


def test_one_that_was_killed_says_nothing_about_the_source(task: Task):
    assert isinstance(meaning(task, "Invalid data found", code=-9), CommandFailed)


def test_nor_does_one_that_did_not_read_it(task: Task):
    assert isinstance(meaning(task, "Invalid data found", code=183, reads_source=False), CommandFailed)


def test_a_source_that_is_away_may_come_back(task: Task):
    task.path.unlink()
    assert isinstance(meaning(task, "Invalid data found"), CommandFailed)


def test_a_full_disk_is_one_whatever_is_read(task: Task):
    assert isinstance(meaning(task, "write(): No space left on device", reads_source=False), DiskFull)


def test_it_runs_behind_everything_else(task: Task):
    done: list[CommandResult] = []
    run = task.run

    def remember(argv, **options) -> CommandResult:
        done.append(run(argv, **options))
        return done[-1]

    run_ffmpeg(replace(task, run=remember), ["nice"], timeout=20)
    assert int(done[0].stdout) == min(19, os.nice(0) + 10)  # also where the tests themselves stand back
