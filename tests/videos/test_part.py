"""A part: whoever may spawn one can write it, and another worker runs ffmpeg by it."""

import json
import re
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from hypothesis import given
from hypothesis import strategies as st

from jobs.handlers.base import ClaimRef, Spawn
from jobs.handlers.ffmpeg import ffmpeg_version, find_ffmpeg
from jobs.lifecycle.spawn import spawn
from jobs.states import Status
from jobs.testing import drain
from jobs.videos.lifecycle.add import add_video
from jobs.videos.payload import NotAnOrder
from jobs.videos.split.part import Part
from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.commands import encode_chunk
from jobs.videos.transcoding.ladder import ladder_for
from jobs.videos.transcoding.source import AudioStream, Source, VideoStream
from jobs.videos.transcoding.task import Pinned
from tests.factories import claimed, reload
from tests.security.trying import trying
from tests.videos import sources

VIDEO = VideoStream(0, "h264", 1280, 720, Fraction(30000, 1001), bitrate=4_000_000)
FACTS = Source("mov", 95.5, 1000, VIDEO, AudioStream(1, "aac", 2, 48_000))
PART = Part(
    5, "sources/5/a.mp4", 7, FACTS, ladder_for(FACTS).rungs[0], Chunk(1, 1800, 1063, True), Pinned("libx264", "7", 10)
)
INJECTED = "23 -f null - -f data -i {secret} -map 1:0 -c copy -f data {target} -c:v libx264"


def spoiled(place: str, value: object) -> dict[str, Any]:
    """The part's payload with something else at one place, as in `rung.crf`."""
    payload = json.loads(json.dumps(PART.as_json()))
    *way, name = place.split(".")
    inner = payload
    for step in way:
        inner = inner[step]
    inner[name] = value
    return payload


def places(value: dict[str, Any], above: str = "") -> list[str]:
    inner = [places(each, f"{above}{name}.") for name, each in value.items() if isinstance(each, dict)]
    return [*(above + name for name in value), *(place for each in inner for place in each)]


PLACES = places(PART.as_json())


def argv_of(part: Part) -> list[str]:
    target = Path("/work") / part.rung.name / f"{part.chunk.number:05}.part"
    return encode_chunk("ffmpeg", Path("/in"), part.facts, part.rung, part.encoder, part.chunk, target)


def test_what_an_honest_one_says_is_understood():
    assert Part.read(json.loads(json.dumps(PART.as_json()))) == PART


@pytest.mark.parametrize("size", [(16, 16), (334, 180), (359, 641), (1920, 1080), (16_384, 4096), (7680, 4320)])
@pytest.mark.parametrize("rate", ["10", "24000/1001", "60", "17017/997"])
def test_so_is_every_quality_of_every_source(size: tuple[int, int], rate: str):
    source = Source("matroska", 3600.0, 1000, VideoStream(2, "vp9", *size, Fraction(rate)))
    for rung in ladder_for(source).rungs:
        part = Part(5, "sources/5/a.mp4", 7, source, rung, Chunk(0, 0, 60, False), PART.pinned)
        assert Part.read(json.loads(json.dumps(part.as_json()))) == part


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("rung.crf", INJECTED),
        ("rung.crf", "23"),
        ("rung.crf", True),
        ("rung.crf", 52),
        ("rung.maxrate", "800k -f null -"),
        ("rung.maxrate", 0),
        ("rung.level", "30 -y"),
        ("rung.level", 30.0),
        ("rung.level", [30]),
        ("rung.name", "../../360p"),
        ("rung.name", "360p/../x"),
        ("rung.name", "359p"),
        ("rung.width", "640:360,movie=/etc/passwd"),
        ("rung.height", 10**9),
        ("chunk.number", "../../../x"),
        ("chunk.number", -1),
        ("chunk.number", 10**5),
        ("chunk.frames", 0),
        ("chunk.first_frame", float("inf")),
        ("chunk.is_last", 1),
        ("pinned.encoder", "libx264 -f null -"),
        ("pinned.segments", 0),
        ("pinned.ffmpeg", 7),
        ("facts.demuxer", "concat"),
        ("facts.demuxer", "hls"),
        ("facts.demuxer", ["mov"]),
        ("facts.duration", float("nan")),
        ("facts.duration", 10**6),
        ("facts.size", "1"),
        ("facts.video.index", "0?"),
        ("facts.video.frame_rate", "1e999999999"),
        ("facts.video.frame_rate", "1/0"),
        ("facts.video.frame_rate", "1/100"),
        ("facts.video.frame_rate", 30),
        ("facts.video.is_hdr", "yes"),
        ("facts.video", None),
        ("facts.audio.index", -1),
        ("facts.audio", []),
        ("job", "../7"),
        ("job", 0),
        ("job", 2**63),
        ("rung", "720p"),
        ("chunk", {}),
        ("pinned", None),
    ],
)
def test_what_no_honest_one_says_is_refused_with_its_place(place: str, value: object):
    with pytest.raises(NotAnOrder, match=rf"The payload cannot be transcoded: {re.escape(place)}\b.* must be "):
        Part.read(spoiled(place, value))


@trying(300)
@given(
    place=st.sampled_from(PLACES),
    value=st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-2, 70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["23 -i /etc/passwd", "-y", "../../x", "1e99999999", "30", "0/0", [], {}, [1], {"a": 1}])
    | st.recursive(st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=5),
)
def test_whatever_is_in_one_ffmpeg_is_told_nothing_else(place: str, value: object):
    """Refused, or the same options in the same order, each with one value that has no room for another."""
    try:
        part = Part.read(spoiled(place, value))
    except NotAnOrder:
        return
    argv = argv_of(part)
    if part.encoder == PART.encoder:
        assert options_of(argv) == options_of(argv_of(PART))
    assert re.fullmatch(r"file:/work/[1-9][0-9]{0,3}p/[0-9]{5}\.part", argv[-1])
    assert not [each for each in argv if not re.fullmatch(r"[\w:/.,=-]+", each, re.ASCII)]


def options_of(argv: list[str]) -> list[str]:
    """Without those that a first, or a last, chunk has not."""
    return [each for each in argv if re.match("-[a-z]", each) and each not in {"-noaccurate_seek", "-ss", "-frames:v"}]


@pytest.mark.once
@pytest.mark.django_db
def test_a_remote_worker_has_no_other_run_ffmpeg_as_it_likes(settings: LazySettings, media: Path, tmp_path: Path):
    """It holds the job of a video, and spawns a chunk whose quality brings arguments along; another worker has it."""
    settings.JOBS_WORK_DIR = str(tmp_path / "work")
    secret, target = tmp_path / ".env", tmp_path / "x.json"
    secret.write_text("SECRET_KEY=hunter2")
    target.write_text("{}")
    holder, honest = held(tmp_path)
    evil = deepcopy(honest)
    evil["rung"]["crf"] = INJECTED.format(secret=secret, target=target)
    spawned = spawn(holder, [Spawn("transcode.chunk", each) for each in (evil, honest)], remote=True)
    drain(raise_errors=False)
    refused, made = (reload(child.id) for child in spawned)
    assert (refused.status, refused.attempt) == (Status.FAILED, 1)
    assert "rung.crf must be a whole number from 0 to 51, not '23 -f null" in refused.last_error
    assert target.read_text() == "{}"
    assert made.status == Status.COMPLETED, made.last_error  # it is only that


def held(folder: Path) -> tuple[ClaimRef, dict[str, Any]]:
    """The claim on the job of a video, and a part of it."""
    video, ffmpeg = add_video(sources.landscape(folder), split=True).video, find_ffmpeg()
    assert ffmpeg
    holder = claimed(job=reload(video.job_id or 0))
    facts = Source("mov", 2.0, video.source_size, VideoStream(0, "h264", 320, 180, Fraction(30)))
    [rung] = ladder_for(facts).rungs
    pinned = Pinned("libx264", ffmpeg_version(ffmpeg), 10)
    return holder, Part(video.pk, video.source, holder.job_id, facts, rung, Chunk(0, 0, 60, True), pinned).as_json()
