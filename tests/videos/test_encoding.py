"""Qualities encoded by a real ffmpeg: in parallel, resumed, with what can go wrong in between."""

import logging
import shutil
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import pytest

from jobs.exceptions import Cancelled
from jobs.handlers.commands import Commands
from jobs.videos.transcoding import encoding as encoding_module
from jobs.videos.transcoding import ladder as ladder_module
from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.disk import estimate, require_room
from jobs.videos.transcoding.encoders import CPU
from jobs.videos.transcoding.encoding import Encoded, encode_all, parallel
from jobs.videos.transcoding.errors import DiskFull, Refused
from jobs.videos.transcoding.ladder import Ladder, Rung, ladder_for
from jobs.videos.transcoding.manifest import Rendition
from jobs.videos.transcoding.probe import probe
from jobs.videos.transcoding.probing.frames import frames_in
from jobs.videos.transcoding.progress import Stalled
from jobs.videos.transcoding.rendition import Advance, Encoding
from jobs.videos.transcoding.task import Task
from tests.uploads.small_disk import small_disk
from tests.videos import sources

__all__ = ["small_disk"]

SMALL_RUNGS = ((180, 400, 96, 30), (90, 200, 96, 30))
SECONDS, SEGMENTS = 14, 3  # at 10 frames a second: segments of 60 frames


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@pytest.fixture(scope="session")
def source(folder: Path) -> Path:
    path = folder / "fourteen.mp4"
    graphs = sources.lavfi(f"testsrc2=size=320x180:rate=10:duration={SECONDS}", f"sine=duration={SECONDS}")
    sources.ffmpeg(*graphs, *sources.X264, *sources.AAC, path)
    return path


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, settings) -> None:
    monkeypatch.setattr(ladder_module, "RUNGS", SMALL_RUNGS)
    settings.JOBS_VIDEO_CHUNK_SEGMENTS = 1


class Told:
    def __init__(self) -> None:
        self.started_at: list[str] = []
        self.frames: dict[str, list[int]] = {}
        self.ended: dict[str, object] = {}

    def started(self, rung: Rung, segments: int) -> None:
        self.started_at.append(rung.name)

    def advanced(self, rung: Rung, advance: Advance) -> None:
        self.frames.setdefault(rung.name, []).append(advance.frames)

    def completed(self, rung: Rung, rendition: Rendition) -> None:
        self.ended[rung.name] = rendition

    def failed(self, rung: Rung, error: Exception) -> None:
        self.ended[rung.name] = error


class Room:
    """A task in a folder of its own, and what was said about it."""

    def __init__(self, path: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
        self.caplog, self.told = caplog, Told()
        self.stop: Exception | None = None
        commands = Commands(self.look)
        folder.mkdir(exist_ok=True)
        self.task = Task(probe(path, commands.run), path, path.name, folder, "attempt", commands.run)
        self.ladder: Ladder = ladder_for(self.task.source)

    def look(self) -> None:
        if self.stop:
            raise self.stop

    def encode(self) -> Encoded:
        shutil.rmtree(self.task.version, ignore_errors=True)  # put together anew each time, of chunks that stay
        self.caplog.clear()
        self.caplog.set_level(logging.INFO)
        logger = logging.LoggerAdapter(logging.getLogger("jobs.test"), {})
        return encode_all(self.task, self.ladder, logger, self.told)

    def encoded_chunks(self) -> list[tuple[str, int]]:
        """What was really encoded, by the log."""
        said = [record.args for record in self.caplog.records if record.msg.startswith("chunk encoded")]
        return sorted((str(args[0]), int(str(args[1]))) for args in said if isinstance(args, tuple))

    def chunk(self, quality: str, number: int) -> Path:
        return self.task.chunks / quality / "libx264" / f"{number - 1:05}.mp4"


@pytest.fixture
def room(source: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> Room:
    return Room(source, tmp_path / "work", caplog)


ALL = [("180p", 1), ("180p", 2), ("90p", 1), ("90p", 2)]


def segments_of(room: Room, quality: str) -> list[str]:
    return sorted(path.name for path in (room.task.version / quality).iterdir())


def test_all_qualities_have_all_frames_in_equal_segments(room: Room):
    encoded = room.encode()
    assert [rendition.name for rendition in encoded.renditions] == ["180p", "90p"]
    assert encoded.frames == SECONDS * 10
    assert room.encoded_chunks() == ALL  # the rest of 20 frames goes with the second
    assert segments_of(room, "180p") == segments_of(room, "90p")
    assert len(segments_of(room, "90p")) == SEGMENTS + 2
    assert sorted(room.told.started_at) == ["180p", "90p"]


def test_progress_reaches_the_end_and_never_goes_back(room: Room):
    room.encode()
    for frames in room.told.frames.values():
        assert frames == sorted(frames)
        assert frames[-1] == SECONDS * 10


def test_what_was_encoded_is_not_encoded_again(room: Room):
    room.encode()
    again = room.encode()
    assert room.encoded_chunks() == []
    assert again.frames == SECONDS * 10


@pytest.mark.parametrize("damage", ["missing", "truncated", "foreign"])
def test_a_chunk_that_cannot_be_trusted_is_encoded_again_and_no_other(room: Room, damage: str):
    room.encode()
    chunk = room.chunk("90p", 2)
    if damage == "missing":
        chunk.unlink()
    elif damage == "truncated":
        chunk.write_bytes(chunk.read_bytes()[:-100])
    else:
        chunk.write_bytes(room.chunk("180p", 2).read_bytes())
    assert room.encode().frames == SECONDS * 10
    assert room.encoded_chunks() == [("90p", 2)]


def test_a_cancelled_one_stops_its_programs_and_goes_on_where_it_was(room: Room):
    stop = Cancelled(job_id=1)

    class StopsAfterAChunk(Told):
        def advanced(self, rung: Rung, advance: Advance) -> None:
            if room.encoded_chunks():
                room.stop = stop

    room.told = StopsAfterAChunk()
    with pytest.raises(Cancelled):
        room.encode()
    before = room.encoded_chunks()
    assert 1 <= len(before) < len(ALL)
    room.stop, room.told = None, Told()
    assert room.encode().frames == SECONDS * 10
    assert sorted([*before, *room.encoded_chunks()]) == ALL


def test_an_encoder_that_fails_is_replaced_by_the_cpu_within_the_attempt(room: Room, settings):
    settings.JOBS_VIDEO_ENCODERS = "h264_nvenc,libx264"  # this ffmpeg, or this machine, has none
    encoded = room.encode()
    assert {rendition.encoder for rendition in encoded.renditions} == {"libx264"}
    assert encoded.failed == {}
    assert "encoder failed, trying the next quality=180p" in room.caplog.text


def test_where_the_only_encoder_fails_the_qualities_have(room: Room, settings):
    settings.JOBS_VIDEO_ENCODERS = "h264_nvenc"
    encoded = room.encode()
    assert set(encoded.failed) == {"180p", "90p"}
    assert "h264_nvenc cannot do it here" in str(encoded.failed["90p"])


def test_one_quality_that_fails_takes_no_other_with_it(room: Room):
    room.task.chunks.mkdir(parents=True)
    (room.task.chunks / "180p").write_text("in the way")
    encoded = room.encode()
    assert [rendition.name for rendition in encoded.renditions] == ["90p"]
    assert set(encoded.failed) == {"180p"}
    assert isinstance(room.told.ended["180p"], NotADirectoryError)


def test_a_source_that_ends_too_soon_is_refused_though_ffmpeg_may_not_mind(room: Room, tmp_path: Path):
    """One that the probe let pass: the rest was lost afterwards, or its header promises too much."""
    short = tmp_path / "short.mp4"
    sources.ffmpeg("-i", room.task.path, "-t", "9", "-c", "copy", short)
    room.task = replace(room.task, path=short)
    with pytest.raises(Refused, match=r"lasts 14\.0 s, but its pictures end after 9\.\d s: it is truncated"):
        room.encode()


def test_a_program_that_says_nothing_is_found_stalled_and_ended(room: Room, tmp_path: Path, monkeypatch, settings):
    monkeypatch.setattr("jobs.videos.transcoding.progress.STALLED_AFTER", 0.5)
    program = tmp_path / "ffmpeg"
    program.write_text('#!/bin/sh\ncase "$*" in *-version*) exit;; esac\nkill -STOP $$\n')
    program.chmod(0o755)
    settings.JOBS_FFMPEG, settings.JOBS_VIDEO_ENCODERS = str(program), "libx264"
    room.ladder = replace(room.ladder, audio_rate=0)
    assert {type(error) for error in room.encode().failed.values()} == {Stalled}


def test_a_program_that_says_that_it_is_done_and_fails_has_failed(room: Room, tmp_path: Path, settings):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho frame=140\necho progress=end\nexit 1\n")
    program.chmod(0o755)
    settings.JOBS_FFMPEG, settings.JOBS_VIDEO_ENCODERS = str(program), "libx264"
    room.ladder = replace(room.ladder, audio_rate=0)
    assert set(room.encode().failed) == {"180p", "90p"}


def test_the_time_that_a_chunk_may_take_grows_with_its_length_and_size(room: Room):
    large, small = (
        Encoding(room.task, rung, CPU, logging.LoggerAdapter(logging.getLogger()), room.told)
        for rung in (replace(room.ladder.rungs[0], width=3840, height=2160), room.ladder.rungs[0])
    )
    short, long = Chunk(0, 0, 60, False), Chunk(0, 0, 600, False)
    assert small.time_for(short) < small.time_for(long) < large.time_for(long)
    assert small.time_for(short) >= 120


@pytest.mark.parametrize(
    ("cores", "gigabytes", "at_once"), [(1, 8, 2), (2, 24, 2), (8, 24, 3), (8, 1, 1), (16, 2, 1), (2, 64, 2)]
)
def test_as_many_are_encoded_at_once_as_cores_and_memory_allow(room: Room, monkeypatch, cores, gigabytes, at_once):
    monkeypatch.setattr(encoding_module, "cpu_count", lambda: cores)
    monkeypatch.setattr(encoding_module, "memory_bytes", lambda: gigabytes * 2**30)
    assert parallel(room.ladder.rungs) == at_once


def test_an_operator_says_how_many_at_once(room: Room, settings):
    settings.JOBS_VIDEO_PARALLEL = 7
    assert parallel(room.ladder.rungs) == 7


def test_a_full_disk_is_found_although_ffmpeg_may_exit_with_0(source: Path, small_disk: Path, caplog, monkeypatch):
    monkeypatch.setattr("jobs.videos.transcoding.rendition.RESERVE", 0)  # so that it really gets full
    room = Room(source, small_disk / "work", caplog)
    (small_disk / "others").write_bytes(b"x" * (1024 * 1024 - 24 * 1024))
    with pytest.raises(DiskFull, match=r"not enough room in .*work"):
        room.encode()
    assert not any(path.suffix == ".mp4" and not frames_in(path) for path in room.task.chunks.rglob("*"))


def test_it_stops_before_the_disk_is_full(source: Path, small_disk: Path, caplog):
    with pytest.raises(DiskFull, match=r"needed"):
        Room(source, small_disk / "work", caplog).encode()


def test_the_room_that_a_ladder_needs_is_that_of_its_rates_twice(room: Room):
    ladder = Ladder(room.ladder.rungs, {}, audio_rate=96)
    assert estimate(ladder, duration=100) == 2 * sum((400, 200, 96)) * 1000 // 8 * 100


def test_room_that_is_there_is_room_enough(tmp_path: Path):
    require_room(tmp_path, 1)
    with pytest.raises(DiskFull, match=r"needed\. Make room, then retry the job"):
        require_room(tmp_path, 1e18)


@pytest.mark.parametrize("rate", ["30000/1001", "24000/1001", "25", "15"])
def test_chunks_join_without_a_gap_at_any_rate(folder: Path, tmp_path: Path, caplog, rate: str):
    path = folder / f"rate-{rate.replace('/', '-')}.mp4"
    sources.ffmpeg(*sources.lavfi(f"testsrc2=size=160x90:rate={rate}:duration=20"), *sources.X264, path)
    room = Room(path, tmp_path / "work", caplog)
    encoded = room.encode()
    assert len(room.encoded_chunks()) == 3
    assert encoded.frames == frames_in(path)
    whole = tmp_path / "whole.mp4"
    parts = sorted(path for path in (room.task.version / "90p").iterdir() if path.suffix in (".mp4", ".m4s"))
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    assert gaps_in(whole) == {Fraction(1, 1) / Fraction(rate)}


def gaps_in(path: Path) -> set[Fraction]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        tick = stream.time_base or Fraction(1)
        times = sorted(packet.pts * tick for packet in container.demux(stream) if packet.pts is not None)
    return {later - sooner for sooner, later in pairwise(times)}
