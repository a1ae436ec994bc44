"""What a machine can do: an encoder counts when it has encoded something. With a stand-in for ffmpeg on the PATH."""

import os
from pathlib import Path

import pytest

from jobs.handlers import ffmpeg as module
from jobs.handlers.ffmpeg import working_encoders
from jobs.machine import memory_bytes
from jobs.worker.capabilities import capabilities

LISTED = """
 V....D h264_nvenc           NVIDIA NVENC H.264 encoder (codec h264)
 V....D h264_qsv             H.264 (Intel Quick Sync Video acceleration) (codec h264)
 V....D h264_vaapi           H.264/AVC (VAAPI) (codec h264)
 V....D libx264              libx264 H.264 / AVC (codec h264)
"""


@pytest.fixture
def ffmpeg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program called ffmpeg that has the encoders above; a test says what happens when one is tried."""
    program = tmp_path / "ffmpeg"
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return program


def becomes(program: Path, when_tried: str) -> None:
    program.write_text(f"#!/bin/sh\ncase \"$*\" in *-encoders*) echo '{LISTED}'; exit 0;; esac\n{when_tried}\n")
    program.chmod(0o755)


def test_of_the_encoders_that_are_built_in_those_that_encode_count(ffmpeg: Path):
    becomes(ffmpeg, 'case "$*" in *"-c:v h264_qsv"*) exit 0;; esac; exit 1')
    assert working_encoders() == ["h264_qsv"]
    assert capabilities() == {
        "cpus": len(os.sched_getaffinity(0)),
        "memory_mib": memory_bytes() // 2**20,
        "gpu": True,
        "encoders": ["h264_qsv"],
    }


def test_software_encoders_are_no_gpu(ffmpeg: Path):
    becomes(ffmpeg, 'case "$*" in *libx264*) exit 0;; esac; exit 1')
    assert capabilities()["gpu"] is False


def test_pictures_are_brought_to_the_card_where_an_encoder_needs_it(ffmpeg: Path):
    becomes(ffmpeg, 'case "$*" in *-vaapi_device*hwupload*h264_vaapi*) exit 0;; esac; exit 1')
    assert working_encoders() == ["h264_vaapi"]


def test_an_encoder_that_hangs_does_not_hold_the_worker_up(ffmpeg: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "TRIAL_SECONDS", 0.5)
    becomes(ffmpeg, 'case "$*" in *h264_nvenc*) exec sleep 60;; esac; exit 0')
    assert working_encoders() == ["h264_qsv", "h264_vaapi"]


@pytest.mark.parametrize("text", ["not a program", "#!/no/such/interpreter"])
def test_an_ffmpeg_that_cannot_be_started_has_no_encoders(ffmpeg: Path, text):
    ffmpeg.write_text(text)
    ffmpeg.chmod(0o755)
    assert working_encoders() == []


def test_without_ffmpeg_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert capabilities()["encoders"] == []


@pytest.mark.parametrize(("word", "gpu"), [("on", True), ("off", False)])
def test_an_operators_word_counts_more_than_what_is_found(ffmpeg: Path, word, gpu):
    becomes(ffmpeg, "exit 1" if gpu else "exit 0")
    assert capabilities(word)["gpu"] is gpu


def test_with_the_gpu_off_nothing_is_tried(ffmpeg: Path, tmp_path: Path):
    becomes(ffmpeg, "exit 0")
    ffmpeg.write_text(f"#!/bin/sh\ntouch {tmp_path}/tried\n")
    assert capabilities("off")["encoders"] == []
    assert not (tmp_path / "tried").exists()


def test_the_memory_is_that_of_this_machine():
    with open("/proc/meminfo") as file:
        kib = int(file.readline().split()[1])
    assert memory_bytes() == pytest.approx(kib * 1024, rel=0.01)
