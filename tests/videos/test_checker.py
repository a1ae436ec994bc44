"""The independent checker is believed by other tests, so it must fail where it should."""

from pathlib import Path
from typing import Any

import pytest

from tests.videos.checker import check
from tests.videos.damages import DAMAGES, SEGMENT, Damage, change_bytes, flipped
from tests.videos.versions import DURATION, FRAMES, RATE, SIZES, _good_version, _silent_version, _version  # noqa: F401

WANTED: dict[str, Any] = {"duration": DURATION, "frame_rate": RATE, "sizes": SIZES, "audio": True}
SEEN = [damage for damage in DAMAGES if damage.seen is not None]


def test_it_tells_what_it_found(good_version: Path):
    found = check(good_version / "master.m3u8", **WANTED, frames=FRAMES)
    assert found == check(good_version, **WANTED)
    assert found.frames == {"180p": FRAMES, "90p": FRAMES}
    assert found.boundaries == pytest.approx([0, 1.001, 2.002, 3.003])
    assert found.seconds == pytest.approx(DURATION)
    assert found.sound_seconds == pytest.approx(DURATION, abs=0.03)
    assert list(found.bandwidths) == ["90p", "180p"]


def test_it_knows_versions_without_sound(silent_version: Path):
    assert check(silent_version, **{**WANTED, "audio": False}).sound_seconds == 0


@pytest.mark.parametrize("damage", SEEN, ids=lambda damage: damage.name)
def test_it_sees_damage(damage: Damage, version: Path):
    damage.do(version)
    with pytest.raises(AssertionError, match=damage.seen):
        check(version, **WANTED)


def test_it_sees_damage_that_only_decoding_shows(version: Path):
    change_bytes(SEGMENT, flipped)(version)
    with pytest.raises(AssertionError, match=f"{SEGMENT} cannot be decoded"):
        check(version, **WANTED)


@pytest.mark.parametrize(
    "wrong",
    [
        {"duration": DURATION + 0.2},
        {"frame_rate": 25},
        {"sizes": {"180p": (320, 180)}},
        {"sizes": {"180p": (320, 180), "90p": (160, 92)}},
        {"audio": False},
        {"frames": FRAMES + 1},
    ],
    ids=str,
)
def test_it_sees_that_a_good_version_is_not_the_wanted_one(wrong: dict[str, Any], good_version: Path):
    with pytest.raises(AssertionError):
        check(good_version, **{**WANTED, **wrong})
