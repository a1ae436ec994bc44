"""What the probe refuses, with which words, and what it must not blame the file for."""

import errno
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.handlers.commands import Commands
from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.probe import CHILD, probe
from jobs.videos.transcoding.source import Source
from tests.videos import bad_sources, sources

run = Commands(lambda: None).run


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


def look_at(path: Path) -> Source:
    return probe(path, run)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (bad_sources.empty, "The file is empty."),
        (bad_sources.noise, "not a video"),
        (bad_sources.text, "not a video"),
        (bad_sources.photo_in_disguise, "It is a picture, not a video."),
        (bad_sources.song, "It has sound but no picture."),
        (bad_sources.album, "It has sound and a cover, but no moving picture."),
        (bad_sources.subtitles, "It has neither picture nor sound."),
        (bad_sources.no_streams, "It has neither picture nor sound."),
        (bad_sources.cut, "The file is incomplete"),
        (bad_sources.cut_faststart, "The file is incomplete"),
        (bad_sources.cut_matroska, "The file is incomplete"),
        (bad_sources.cut_flash, "incomplete: it says that it lasts 40.0 s, but it ends after"),
        (bad_sources.cut_mxf, "incomplete: it says that it lasts 40.0 s, but it ends after"),
        (bad_sources.promises_an_hour, "incomplete: it says that it lasts 3600.0 s, but it ends after 2.0 s."),
        (bad_sources.header_only, "cannot be read"),
        (bad_sources.instant, "Its pictures last 0 s"),
        (bad_sources.broad, "Its picture has 16640 × 16 pixels"),
        (bad_sources.broad_by_header, "Its picture has 65535 × 255 pixels"),
        (bad_sources.specks, "Its picture has 8 × 8 pixels"),
    ],
)
def test_refused(make: sources.Recipe, why, folder):
    with pytest.raises(Refused) as refused:
        look_at(make(folder))
    assert why in str(refused.value)


@pytest.mark.parametrize("magic", [b"ID3\4", b"fLaC", b"RIFF\0\0\0\0WAVE"])
def test_sound_in_its_own_format_is_told_from_noise(magic, tmp_path):
    path = tmp_path / "sound.mp4"
    path.write_bytes(magic + bytes(1000))
    with pytest.raises(Refused, match="It has sound but no picture"):
        look_at(path)


def test_a_picture_that_no_decoder_understands(folder, tmp_path):
    """Its packets are there; what is in them is nonsense."""
    path = tmp_path / "nonsense.mp4"
    whole = bytearray(sources.silent(folder).read_bytes())
    start, end = whole.index(b"mdat") + 4, whole.rindex(b"moov") - 4
    whole[start:end] = bytes(end - start)
    path.write_bytes(whole)
    with pytest.raises(Refused, match="Not one picture of it can be decoded"):
        look_at(path)


@pytest.mark.parametrize("position", range(0, 1000, 100))
def test_a_damaged_header_is_refused_or_understood(position, folder, tmp_path):
    """Never an error that would have the job tried again."""
    path = tmp_path / "damaged.mkv"
    whole = bytearray(sources.container("mkv", folder).read_bytes())
    whole[position : position + 8] = b"\xff" * 8
    path.write_bytes(whole)
    try:
        found = look_at(path)
    except Refused:
        return
    assert 0 < found.duration < 3


def test_damage_that_libav_takes_for_a_broken_disk(folder, tmp_path):
    """The second mention of this element is the element itself; it is made longer than the file."""
    path, element = tmp_path / "damaged.mkv", b"\x15\x49\xa9\x66"
    whole = bytearray(sources.container("mkv", folder).read_bytes())
    length = whole.index(element, whole.index(element) + 1) + len(element)
    whole[length : length + 4] = b"\x10\xff\xff\xff"
    path.write_bytes(whole)
    with pytest.raises(Refused, match="it cannot be read: input/output error"):
        look_at(path)


# What is not the file's fault


def test_a_missing_file_is_no_refusal(tmp_path):
    with pytest.raises(FileNotFoundError):
        look_at(tmp_path / "missing.mp4")


def test_a_file_that_vanishes_while_the_probe_starts(folder, tmp_path):
    path = tmp_path / "vanishing.mp4"
    path.write_bytes(sources.landscape(folder).read_bytes())

    def run_after_removal(argv, **options):
        path.unlink()
        return run(argv, **options)

    with pytest.raises(FileNotFoundError):
        probe(path, run_after_removal)


def test_a_disk_that_fails_is_no_refusal():
    """Nothing is mapped where this file begins: to read there is an I/O error."""
    said = run([sys.executable, "-m", CHILD, "/proc/self/mem"])
    assert json.loads(said.stdout) == {"errno": errno.EIO}


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), os.mkfifo])
def test_what_is_no_file_is_refused_without_opening_it(make: Callable[[Path], None], tmp_path):
    path = tmp_path / "thing.mp4"
    make(path)
    with pytest.raises(Refused, match="It is not a file"):
        look_at(path)
