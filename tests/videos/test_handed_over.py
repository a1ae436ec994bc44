"""Chunks of other workers: whoever makes one writes its hash and its number of frames, too."""

import json
import logging
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage

from jobs.exceptions import CommandFailed
from jobs.handlers.commands import Commands
from jobs.handlers.files import Files
from jobs.videos.split.handed_over import fetch_chunk
from jobs.videos.transcoding import probe
from jobs.videos.transcoding.chunks import Chunk, ChunkStore, sha256_of
from tests.videos import bad_sources, sources
from tests.videos.watching import watched

CHUNK, OTHER, LAST = Chunk(1, 60, 60, False), Chunk(0, 0, 60, False), Chunk(1, 60, 45, True)
FOLDER = "videos/5/parts/7-0123abcd"
Write = Callable[[Path, Path], object]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chunk as it should be, of 60 frames."""
    return sources.silent(tmp_path_factory.mktemp("sources"))


@pytest.fixture
def ctx(tmp_path: Path) -> Any:
    logger, run = logging.getLogger("jobs.test"), Commands(lambda: None).run
    return SimpleNamespace(files=Files(FileSystemStorage(tmp_path / "media")), run=run, logger=logger)


@pytest.fixture
def ours(tmp_path: Path) -> ChunkStore:
    return ChunkStore(tmp_path / "work" / "360p" / "libx264", "mark", "ours")


@pytest.fixture
def theirs(tmp_path: Path) -> ChunkStore:
    return ChunkStore(tmp_path / "media" / FOLDER, "mark", "theirs")


def hand_over(store: ChunkStore, content: bytes, chunk: Chunk = CHUNK, frames: object = 60) -> None:
    """With a hash that is right."""
    store.part_of(chunk).write_bytes(content)
    store.keep(chunk, frames)  # type: ignore[arg-type]


def cut(path: Path, whole: Path) -> None:
    path.write_bytes(whole.read_bytes()[:-100])


def cut_in_the_middle(path: Path, whole: Path) -> None:
    """Its table of contents comes first, and promises more than there is."""
    sources.ffmpeg("-i", whole, "-c", "copy", "-movflags", "faststart", "-f", "mp4", path)
    path.write_bytes(bad_sources.first_half(path))


def too_short(path: Path, whole: Path) -> None:
    sources.ffmpeg("-i", whole, "-c", "copy", "-frames:v", "30", "-f", "mp4", path)


def other_container(path: Path, whole: Path) -> None:
    sources.ffmpeg("-i", whole, "-c", "copy", "-f", "mpegts", path)


def text_before_it(path: Path, whole: Path) -> None:
    """What a demuxer finds that looks for its word anywhere."""
    path.write_bytes(bad_sources.box(b"free", b"<MPD dash:profile:isoff-on-demand:2011>") + whole.read_bytes())


def script(path: Path, whole: Path) -> None:
    bad_sources.write_concat_script(path, str(whole))


def playlist(path: Path, whole: Path) -> None:
    bad_sources.write_playlist(path, str(whole))


def test_what_is_as_it_should_be_is_ours_and_found_again(ctx: Any, ours: ChunkStore, theirs: ChunkStore, whole: Path):
    hand_over(theirs, whole.read_bytes())
    assert fetch_chunk(ctx, FOLDER, ours, CHUNK)
    assert ours.find(CHUNK) == 60
    assert sorted(path.name for path in ours.folder.parent.rglob("*.*")) == ["00001.json", "00001.mp4"]
    assert theirs.find(CHUNK) == 60


@pytest.mark.parametrize("frames", [60, 30])
@pytest.mark.parametrize(
    "write", [script, playlist, cut, cut_in_the_middle, too_short, other_container, text_before_it]
)
def test_what_is_not_is_thrown_away_and_nothing_that_it_names_is_opened(
    write: Write, frames: int, ctx: Any, ours: ChunkStore, theirs: ChunkStore, whole: Path, tmp_path: Path
):
    write(tmp_path / "made", whole)
    hand_over(theirs, (tmp_path / "made").read_bytes(), frames=frames)
    with watched(whole) as watch:
        assert not fetch_chunk(ctx, FOLDER, ours, CHUNK)
        assert not watch.was_opened
    assert ours.find(CHUNK) is None
    assert [path for path in ours.folder.parent.rglob("*") if path.is_file()] == []


def test_the_last_one_may_be_shorter_than_the_probe_let_expect_but_not_empty(ctx, ours, theirs, whole: Path, tmp_path):
    hand_over(theirs, whole.read_bytes(), LAST, frames=59)
    assert not fetch_chunk(ctx, FOLDER, ours, LAST), "it has 60"
    sources.ffmpeg("-i", whole, "-c", "copy", "-frames:v", "0", "-f", "mp4", tmp_path / "none")
    hand_over(theirs, (tmp_path / "none").read_bytes(), LAST, frames=0)
    assert not fetch_chunk(ctx, FOLDER, ours, LAST)
    hand_over(theirs, whole.read_bytes(), LAST)
    assert fetch_chunk(ctx, FOLDER, ours, LAST)


def test_nothing_else_that_lies_in_the_folder_gets_among_ours(ctx: Any, ours: ChunkStore, theirs: ChunkStore, whole):
    """A worker makes one chunk, and not also that of another."""
    hand_over(ours, whole.read_bytes(), OTHER)
    before = sha256_of(ours.path_of(OTHER))
    hand_over(theirs, b"ffconcat version 1.0\n", OTHER)
    hand_over(theirs, whole.read_bytes())
    assert fetch_chunk(ctx, FOLDER, ours, CHUNK)
    assert (ours.find(OTHER), sha256_of(ours.path_of(OTHER))) == (60, before)


@pytest.mark.parametrize("note", ["", "[]", json.dumps({"fingerprint": "", "sha256": "", "frames": 60})])
def test_one_without_its_note_or_that_is_gone_is_not_taken(note: str, ctx, ours, theirs: ChunkStore, whole: Path):
    assert not fetch_chunk(ctx, FOLDER, ours, CHUNK)
    theirs.path_of(CHUNK).write_bytes(whole.read_bytes())
    (theirs.folder / "00001.json").write_text(note)
    assert not fetch_chunk(ctx, FOLDER, ours, CHUNK)


def test_one_that_crashes_its_reader_is_refused_and_a_reader_that_is_killed_says_nothing(
    ctx: Any, ours: ChunkStore, theirs: ChunkStore, whole: Path
):
    hand_over(theirs, whole.read_bytes())
    ends = "import os; os.kill(os.getpid(), {})"
    run = ctx.run
    ctx.run = lambda argv, **options: run([argv[0], "-c", ends.format(11)], **options)
    assert not fetch_chunk(ctx, FOLDER, ours, CHUNK)
    ctx.run = lambda argv, **options: run([argv[0], "-c", ends.format(9)], **options)
    with pytest.raises(CommandFailed):
        fetch_chunk(ctx, FOLDER, ours, CHUNK)


def test_its_frames_are_counted_in_the_child_of_the_probe(ctx, ours, theirs, whole: Path):
    """That is confined, see tests/security/test_confinement.py."""
    told: list[list[str]] = []
    run = ctx.run

    def remember(argv, **options):
        told.append(list(map(str, argv)))
        return run(argv, **options)

    ctx.run = remember
    hand_over(theirs, whole.read_bytes())
    assert fetch_chunk(ctx, FOLDER, ours, CHUNK)
    assert [argv[2] for argv in told] == [probe.CHILD]
