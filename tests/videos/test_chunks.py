"""Chunks: planned at whole segments, and trusted only when every byte is what it was."""

import json
from pathlib import Path

import pytest

from jobs.videos.transcoding.chunks import Chunk, ChunkStore, fingerprint, plan_chunks
from jobs.videos.transcoding.probing.frames import frames_in
from tests.videos import sources

CHUNK = Chunk(3, 0, 60, False)


@pytest.mark.parametrize("frames", [1, 12, 179, 180, 181, 1799, 1800, 1801, 1979, 1980, 3600, 3779, 3780, 100_000])
def test_chunks_follow_each_other_cover_everything_and_begin_at_segments(frames):
    plan = plan_chunks(frames, segment_frames=180, segments=10)
    assert [chunk.number for chunk in plan] == list(range(len(plan)))
    assert [chunk.first_frame for chunk in plan] == [1800 * number for number in range(len(plan))]
    assert sum(chunk.frames for chunk in plan) == frames
    assert [chunk.is_last for chunk in plan] == [False] * (len(plan) - 1) + [True]
    assert all(chunk.frames == 1800 for chunk in plan[:-1])


@pytest.mark.parametrize(("frames", "chunks"), [(1800, 1), (1979, 1), (1980, 2), (3779, 2), (3780, 3)])
def test_a_rest_shorter_than_a_segment_goes_with_the_last_chunk(frames, chunks):
    """It may not exist at all: a probe's duration is an estimate."""
    assert len(plan_chunks(frames, segment_frames=180, segments=10)) == chunks


@pytest.fixture
def store(tmp_path: Path) -> ChunkStore:
    return ChunkStore(tmp_path / "720p", "mark", "first")


@pytest.fixture
def kept(store: ChunkStore) -> ChunkStore:
    store.part_of(CHUNK).write_bytes(b"picture" * 100)
    store.keep(CHUNK, frames=60)
    return store


def test_a_kept_chunk_is_found_again_and_no_part_is_left(kept: ChunkStore):
    assert ChunkStore(kept.folder, "mark", "second").find(CHUNK) == 60
    assert sorted(path.name for path in kept.folder.iterdir()) == ["00003.json", "00003.mp4"]


def test_what_was_never_finished_is_not_found(store: ChunkStore):
    store.part_of(CHUNK).write_bytes(b"half")
    assert store.find(CHUNK) is None


@pytest.mark.parametrize("damage", [b"", b"picture" * 99, b"picture" * 99 + b"Picture", b"foreign"])
def test_a_chunk_that_changed_is_not_trusted(kept: ChunkStore, damage: bytes):
    kept.path_of(CHUNK).write_bytes(damage)
    assert kept.find(CHUNK) is None


def test_a_chunk_of_another_source_setting_or_encoder_is_not_trusted(kept: ChunkStore):
    assert ChunkStore(kept.folder, "another mark", "second").find(CHUNK) is None


@pytest.mark.parametrize("other", [Chunk(3, 60, 60, False), Chunk(3, 0, 120, False), Chunk(3, 0, 60, True)])
def test_a_chunk_of_another_place_is_not_trusted(kept: ChunkStore, other: Chunk):
    """The number of segments in a chunk may have been changed meanwhile."""
    assert kept.find(other) is None


def test_two_attempts_do_not_write_into_the_same_file(kept: ChunkStore):
    other = ChunkStore(kept.folder, "mark", "second")
    assert other.part_of(CHUNK) != kept.part_of(CHUNK)
    assert other.listing([CHUNK]) != kept.listing([CHUNK])


@pytest.mark.parametrize("note", ["", "{", "[]", "null", "{}", json.dumps({"frames": 60})])
def test_a_note_that_cannot_be_read_is_not_trusted(kept: ChunkStore, note: str):
    (kept.folder / "00003.json").write_text(note)
    assert kept.find(CHUNK) is None


def test_a_note_without_its_chunk_is_not_trusted(kept: ChunkStore):
    kept.path_of(CHUNK).unlink()
    assert kept.find(CHUNK) is None


def test_the_mark_changes_with_whatever_went_into_it():
    assert fingerprint("a", {"b": 1, "c": 2}) == fingerprint("a", {"c": 2, "b": 1})
    assert len({fingerprint("a", 1), fingerprint("a", 2), fingerprint("b", 1), fingerprint("a", "1", "")}) == 4


def test_frames_are_counted_not_believed(tmp_path: Path):
    whole = sources.landscape(tmp_path)
    assert frames_in(whole) == 60
    (tmp_path / "cut.mp4").write_bytes(whole.read_bytes()[:1000])
    (tmp_path / "empty.mp4").write_bytes(b"")
    assert [frames_in(tmp_path / name) for name in ("cut.mp4", "empty.mp4", "none.mp4")] == [0, 0, 0]
