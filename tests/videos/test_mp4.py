"""What is read from MP4 boxes, and what is said of those that are garbage."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jobs.videos.transcoding.fragments import read_init, samples_of
from jobs.videos.transcoding.mp4 import NotMp4, avc_codec, kinds_in
from jobs.videos.transcoding.nal import has_idr
from tests.videos.versions import _good_version, make_picture  # noqa: F401


def box(kind: bytes, *content: bytes) -> bytes:
    data = b"".join(content)
    return (8 + len(data)).to_bytes(4) + kind + data


def init_with(avcc: bytes, entry: bytes = b"avc1") -> bytes:
    table = box(b"stsd", bytes(8), box(entry, bytes(78), box(b"colr"), box(b"avcC", avcc)))
    return box(b"ftyp") + box(b"moov", box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", table)))))


@pytest.mark.parametrize("profile", ["baseline", "main", "high"])
def test_the_codec_is_that_of_the_encoder(profile: str, tmp_path: Path):
    make_picture(tmp_path, (160, 90), "-profile:v", profile, "-level", "3.1", frames=10)
    codec = avc_codec((tmp_path / "init.mp4").read_bytes())
    assert codec == {"baseline": "avc1.42c01f", "main": "avc1.4d401f", "high": "avc1.64001f"}[profile]


def test_the_codec_is_found_among_other_boxes():
    assert avc_codec(init_with(b"\x01\x64\x00\x28\xff\xe1")) == "avc1.640028"


def test_a_box_may_state_its_size_in_64_bits_or_reach_to_the_end():
    moov = init_with(b"\x01\x64\x00\x28")[8:]
    long = (1).to_bytes(4) + b"moov" + (len(moov) + 8).to_bytes(8) + moov[8:]
    assert avc_codec(long) == avc_codec(bytes(4) + moov[4:]) == "avc1.640028"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no avcC box"),
        (b"\x00\x00\x00", "3 stray bytes at 0"),
        (box(b"moov"), "no avcC box"),
        (b"\x00\x00\x00\x07moov", "'moov' at 0 states 7 bytes"),
        (b"\x00\x00\x00\x01moov" + bytes(8), "'moov' at 0 states 0 bytes"),
        (b"\x00\x00\x00\x01moov", "'moov' at 0 states 0 bytes"),
        (b"\x7f\xff\xff\xffmoov", "'moov' at 0 states 2147483647 bytes, where 8 are left"),
        (init_with(b"\x01\x64\x00"), "avcC box is garbled"),
        (init_with(b"\x02\x64\x00\x28"), "avcC box is garbled"),
        (init_with(b"\x01\x64\x00\x28", b"hvc1"), "no avcC box"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, why: str):
    with pytest.raises(NotMp4, match=f"It is not a whole MP4 file: .*{why}"):
        avc_codec(data)


def test_a_file_is_read_only_where_its_boxes_begin(tmp_path: Path):
    path = tmp_path / "sparse.m4s"
    with path.open("wb") as file:
        file.write(box(b"moof") + (1).to_bytes(4) + b"mdat" + (2**40).to_bytes(8))
        file.truncate(8 + 2**40)
    assert kinds_in(path) == ["moof", "mdat"]
    with path.open("r+b") as file:
        file.truncate(2**40)
    with pytest.raises(NotMp4, match="'mdat' at 8"):
        kinds_in(path)


def test_samples_are_read_with_their_times_and_places(good_version: Path):
    init = read_init((good_version / "180p/init.mp4").read_bytes())
    data = (good_version / "180p/segment_00001.m4s").read_bytes()
    samples = samples_of(data, init)
    assert (init.handler, init.timescale, init.shift) == ("vide", 30000, 0)
    assert sorted(sample.shown for sample in samples) == [30030 + 1001 * index for index in range(30)]
    assert [sample.is_key for sample in samples] == [True] + [False] * 29
    assert samples[0].start == data.index(b"mdat") + 4
    assert [one.end for one in samples[:-1]] == [other.start for other in samples[1:]]
    assert samples[-1].end == len(data)


@given(data=st.data())
def test_garbage_is_refused_and_nothing_runs_on(good_version: Path, data: st.DataObject):
    init = (good_version / "180p/init.mp4").read_bytes()
    segment = (good_version / "180p/segment_00003.m4s").read_bytes()
    broken = bytearray(data.draw(st.sampled_from([init, segment])))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, min(len(broken), 900) - 1))
        broken[at : at + 4] = data.draw(st.binary(min_size=0, max_size=8))
    for read in (avc_codec, read_init, lambda each: samples_of(each, read_init(init))):
        with suppress(NotMp4):
            read(bytes(broken))


@given(st.binary(max_size=60))
@example(b"\x00\x00\x00\x00" * 2)
def test_units_add_up_or_are_refused(sample: bytes):
    with suppress(NotMp4):
        has_idr(sample, 0, len(sample))


def test_an_idr_picture_is_found_after_other_units():
    sample = b"\x00\x00\x00\x02\x09\xf0" + b"\x00\x00\x00\x03\x65\x88\x84"
    assert has_idr(sample, 0, len(sample))
    assert not has_idr(sample, 0, 6)
    with pytest.raises(NotMp4, match="picture data at 6 is garbage"):
        has_idr(sample, 0, 12)
