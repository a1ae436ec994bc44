"""What is read from files, callers and operators: whatever it is, it is understood or refused in words, and in time."""

import io
import json
import math
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.api.queue.cursors import cursor_of, job_before
from jobs.duration_text import parse_duration, written
from jobs.exceptions import InvalidInput
from jobs.handlers.schedules import parse_schedule
from jobs.lifecycle.new_job import check_backoff
from jobs.lifecycle.payload import check_payload
from jobs.lifecycle.set_limit import parse_rate
from jobs.sanitise import clean_error, clean_json, clean_text, printable
from jobs.serving.ranges import NotSatisfiable, wanted_part
from jobs.videos.names import safe_file_name
from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.mp4 import NotMp4, avc_codec, boxes
from jobs.videos.transcoding.probing.containers import MAGIC, check_complete, sniff
from jobs.videos.transcoding.progress import Gauge
from jobs.videos.transcoding.validation.playlists import Unparsable, media_problems, name_fault, parse, target_problems
from jobs.web_address import BadAddress, Policy, not_public, problem_with
from jobs.web_address import parse as parse_address
from jobs.windows import Window, time_zone
from tests.security.trying import trying

pytestmark = pytest.mark.once
quick = trying(100, deadline=2000)
words = st.text(max_size=60)
numbers = st.text("0123456789.-+eExNaAinf:,/ *@%#\0\n", max_size=30)


@quick
@given(st.lists(st.tuples(st.sampled_from(["frame", "out_time_us", "fps", "speed", "progress"]), words | numbers)))
def test_what_ffmpeg_says_of_its_progress(lines: list[tuple[str, str]]):
    frames: list[int] = []
    gauge = Gauge(lambda gauge: frames.append(gauge.frame))
    for name, value in lines:
        gauge.feed(f"{name}={value}")
        assert all(math.isfinite(number) and number >= 0 for number in (gauge.frame, gauge.out_time, gauge.fps))
    assert frames == sorted(frames)


TAGS = st.sampled_from([
    "#EXTINF:6,", "#EXTINF:nan,", "#EXTINF:,", "#EXT-X-MAP:URI=\"init.mp4\"", "#EXT-X-MAP:", "#EXT-X-TARGETDURATION:6",
    "#EXT-X-TARGETDURATION:x", "#EXT-X-VERSION:", "#EXT-X-VERSION:7", "#EXT-X-BYTERANGE:1@", "#EXT-X-KEY:METHOD=NONE",
    "#EXT-X-PROGRAM-DATE-TIME:", "#EXT-X-DISCONTINUITY", "#EXT-X-ENDLIST", "http://[", "../../etc/passwd", "a%2F..%2Fb",
])  # fmt: skip


@quick
@given(st.lists(TAGS | words, max_size=12))
def test_playlists(tmp_path_factory: pytest.TempPathFactory, lines: list[str]):
    path = tmp_path_factory.getbasetemp() / "fuzz.m3u8"
    path.write_bytes("\n".join(["#EXTM3U", *lines]).encode("utf-8", "surrogatepass"))
    with suppress(Unparsable):
        playlist = parse(path, "fuzz.m3u8")
        list(media_problems(playlist, "x")), list(target_problems(playlist, "x"))
        for segment in playlist.segments:
            name_fault(segment.uri)


@quick
@given(words | TAGS)
def test_a_name_in_a_playlist_never_leads_elsewhere(name: str):
    if not name_fault(name):
        assert not name.startswith("/")
        assert ".." not in name.split("/")
        assert ":" not in name


@quick
@given(
    st.sampled_from([*MAGIC, b"\0\0\0\x18ftypisom", b"RIFF\0\0\0\0AVI ", b"G" * 1000, b"#EXTM3U\n", b""]), st.binary()
)
def test_the_first_bytes_of_a_file(magic: bytes, rest: bytes):
    whole = magic + rest
    with suppress(Refused):
        demuxer = sniff(io.BytesIO(whole))
        assert demuxer not in {"hls", "concat", "dash", "sdp", "image2"}
        check_complete(demuxer, io.BytesIO(whole), len(whole))


@quick
@given(st.binary(max_size=300), st.sampled_from([b"", b"\0\0\0\x08moov", b"\0\0\0\x01moov\0\0\0\0\0\0\0\x10"]))
def test_mp4_boxes(data: bytes, head: bytes):
    with suppress(NotMp4):
        avc_codec(head + data)
    with suppress(NotMp4):
        list(boxes(head + data))


NOW = datetime(2031, 5, 1, 12, tzinfo=UTC)
FIELDS = st.lists(st.text("0123456789*/-,LW#?SUNJA", min_size=1, max_size=6), min_size=4, max_size=6).map(" ".join)


@quick
@given(
    FIELDS | words | st.sampled_from(["@daily", "every 1s", "every 0", "every 99999999w"]),
    st.sampled_from(["UTC", "x"]),
)
def test_schedules(text: str, zone: str):
    with suppress(InvalidInput):
        tick = parse_schedule(text, zone).after(NOW)
        assert tick is None or tick > NOW


@quick
@given(numbers | words)
@example("١٢s")
def test_what_operators_write(text: str):
    for read in (parse_rate, check_backoff, Window.parse, time_zone, job_before):
        with suppress(InvalidInput):
            read(text)
    with suppress(ValueError):
        duration = parse_duration(text)
        assert timedelta(0) <= duration
        assert parse_duration(written(duration)) == duration


@quick
@given(st.integers(1, 2**63 - 1))
def test_cursors_come_back(job_id: int):
    assert job_before(cursor_of(job_id)) == job_id


@quick
@given(words | numbers.map("bytes={}".format), st.integers(0, 10**6))
@example("bytes=-0", 5)
@example("bytes=5-2", 9)
def test_ranges(header: str, size: int):
    with suppress(NotSatisfiable):
        part = wanted_part(header, size)
        if part is not None:
            assert 0 <= part.start < size
            assert 0 < part.length <= size - part.start


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@quick
@given(anything)
def test_payloads_and_results(value: Any):
    with suppress(InvalidInput):
        check_payload({"value": value}).encode()
    for clean in CLEANERS:
        clean(value)


CLEANERS: list[Callable[[Any], Any]] = [
    lambda value: clean_text(str(value), 50).encode(),
    lambda value: clean_error(str(value), 50).encode(),
    lambda value: printable(value, 50).encode(),
    lambda value: json.dumps(clean_json(value, 1000), allow_nan=False, ensure_ascii=False).encode(),
]


@quick
@given(words, st.sampled_from(["{}", "../{}", "..\\{}", "/{}", "{}/..", "\0{}", ".{}", "a/{}\n.mp4"]))
def test_a_file_name_stays_in_its_folder(text: str, form: str):
    name = safe_file_name(form.format(text))
    assert name
    assert name.isprintable()
    assert not name.startswith(".")
    assert "/" not in name
    assert len(name.encode("utf-8", "surrogatepass")) <= 255


HOSTS = st.sampled_from([
    "127.1", "0x7f.1", "2130706433", "[::1]", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "localhost.", "169.254.169.254",
    "a@b", "evil\\@b", "[fe80::1%25eth0]", "1.2.3.4.", "0", "127。0。0。1", "①②⑦.0.0.1",
])  # fmt: skip


@quick
@given(
    st.sampled_from(["https://{}/", "http://{}", "https://{}:443/x", "https://x@{}", "//{}", "{}"]),
    HOSTS | words | numbers,
)
def test_web_addresses(form: str, host: str):
    """What is let through is a name, or an address of the Internet, by https."""
    url = form.format(host)
    if problem_with(url, Policy()):
        return
    with suppress(BadAddress):
        target = parse_address(url)
        assert target.scheme == "https"
        assert target.literal is None or not not_public(target.literal)
        assert not any(char in target.host for char in "@\\/?#%\r\n ")
