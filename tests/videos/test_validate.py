"""What is said of a version before it is published: nothing of a good one, and each fault by the name of its file."""

import random
import re
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.manifest import AUDIO
from jobs.videos.transcoding.master_playlist import write_master
from jobs.videos.transcoding.validate import problems_of, require_valid
from jobs.videos.transcoding.validation.content import decode_problems
from jobs.videos.transcoding.validation.tracks import read_track
from tests.videos.damages import DAMAGES, SEGMENT, Damage, change_bytes, drop, flipped, remove
from tests.videos.versions import SIZES, _good_version, _silent_version, _version, make_picture, make_sound  # noqa: F401


def test_a_good_version_has_no_problems(good_version: Path):
    assert problems_of(good_version) == []
    assert problems_of(good_version, thorough=True) == []


def test_a_good_version_without_sound_has_no_problems(silent_version: Path):
    assert problems_of(silent_version, thorough=True) == []


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.name)
def test_every_damage_is_found_and_named(damage: Damage, version: Path):
    damage.do(version)
    problems = problems_of(version)
    assert [each for each in problems if re.search(damage.problem, each)], problems
    assert all(each.endswith(".") for each in problems)


def test_only_a_thorough_check_decodes(version: Path):
    change_bytes(SEGMENT, flipped)(version)
    assert problems_of(version) == []
    assert [each for each in problems_of(version, thorough=True) if f"{SEGMENT} cannot be decoded" in each]


def test_frames_that_cannot_be_decoded_are_counted(good_version: Path):
    track, _ = read_track(good_version, "180p")
    assert track is not None
    first, *others = track.segments
    expecting_more = replace(track, segments=(replace(first, count=first.count + 1), *others))
    assert list(decode_problems(good_version, expecting_more)) == [
        "180p/segment_00000.m4s has 31 frames, of which 30 can be decoded."
    ]


@pytest.mark.parametrize("edits", [(), ("-avoid_negative_ts", "disabled")], ids=["ffmpeg's default", "from zero"])
def test_edit_lists_are_understood(edits: tuple[str, ...], version: Path):
    for name, size in SIZES.items():
        make_picture(version / name, size, edits=edits)
    make_sound(version / AUDIO, edits=edits)
    write_master(version)
    assert problems_of(version, thorough=True) == []


def test_segments_may_differ_in_how_far_they_reorder(version: Path):
    """The first has no B-frames, the others have: libav would see a gap between them."""
    make_picture(version / "180p", SIZES["180p"], "-force_key_frames", "expr:lt(n,31)")
    write_master(version)
    assert problems_of(version, thorough=True) == []


def test_what_is_valid_passes(good_version: Path):
    require_valid(good_version, thorough=True)


def test_the_error_tells_the_first_problems_and_how_many_there_are(version: Path):
    drop("180p", 1)(version)
    problems = problems_of(version)
    assert len(problems) > 3
    with pytest.raises(InvalidOutput) as caught:
        require_valid(version)
    said = " ".join(problems[:3])
    assert str(caught.value) == f"The output is not as it should be: {said} And {len(problems) - 3} more."


def test_the_error_tells_a_single_problem(version: Path):
    remove("thumbnail.jpg")(version)
    with pytest.raises(InvalidOutput, match=r"as it should be: thumbnail\.jpg is missing\.$"):
        require_valid(version)


def test_a_thorough_check_reaches_the_error(version: Path):
    change_bytes(SEGMENT, flipped)(version)
    require_valid(version)
    with pytest.raises(InvalidOutput, match="cannot be decoded"):
        require_valid(version, thorough=True)


def test_a_folder_that_is_not_there(tmp_path: Path):
    assert re.match("manifest.json cannot be used", problems_of(tmp_path / "nothing")[0])


@pytest.mark.parametrize("file", ["180p/init.mp4", SEGMENT, "audio/init.mp4", "180p/playlist.m3u8", "master.m3u8"])
def test_no_garbage_is_too_much(file: str, version: Path):
    """Whatever a disk returns, the check says what is wrong instead of failing itself."""
    dice, good = random.Random(file), (version / file).read_bytes()
    for _ in range(15):
        data = bytearray(good[: dice.randrange(len(good))] if dice.random() < 0.3 else good)
        for _ in range(dice.choice([1, 3, 30])):
            at = dice.randrange(min(len(data), 600) or 1)
            data[at : at + 1] = dice.choice([b"", b"\0", b"\xff", dice.randbytes(1), dice.randbytes(8)])
        (version / file).write_bytes(data)
        assert all(isinstance(each, str) for each in problems_of(version, thorough=True))
