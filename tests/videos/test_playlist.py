"""The master playlist states what was measured, in the order that players need, and appears whole or not at all."""

import os
import re
import shutil
from dataclasses import replace as changed
from pathlib import Path

import m3u8
import pytest

from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.manifest import Manifest
from jobs.videos.transcoding.master_playlist import RenditionFacts, facts_of, write_master
from jobs.videos.transcoding.media_playlist import MediaPlaylist, Segment, read_media, settle_target
from tests.videos.damages import remove, write
from tests.videos.versions import SIZES, _good_version, _silent_version, _version, make_picture  # noqa: F401


def lines_of(version: Path) -> list[str]:
    return (version / "master.m3u8").read_text().splitlines()


def attributes_of(version: Path, name: str) -> dict[str, str]:
    lines = lines_of(version)
    line = lines[lines.index(f"{name}/playlist.m3u8") - 1]
    return dict(re.findall(r'([A-Z-]+)=("[^"]*"|[^,]*)', line))


def peak_of(folder: Path) -> float:
    """By hand: each of the segments of a second, and the last of them with the short rest that follows it."""
    found = [
        ((folder / each.uri).stat().st_size, each.duration) for each in m3u8.load(f"{folder}/playlist.m3u8").segments
    ]
    *others, (size, seconds), (rest, rest_seconds) = found
    assert rest_seconds < 0.5
    return max(
        8 * size / seconds for size, seconds in [*others, (size, seconds), (size + rest, seconds + rest_seconds)]
    )


def test_the_head_and_the_sound(good_version: Path):
    head = lines_of(good_version)[:4]
    assert head[:3] == ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
    assert head[3].startswith('#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME=')
    assert head[3].endswith('URI="audio/playlist.m3u8"')
    assert "DEFAULT=YES,AUTOSELECT=YES" in head[3]


def test_each_quality_states_what_it_is(good_version: Path):
    stated = attributes_of(good_version, "180p")
    assert stated.keys() == {"BANDWIDTH", "AVERAGE-BANDWIDTH", "CODECS", "RESOLUTION", "FRAME-RATE", "AUDIO"}
    assert stated["CODECS"] == '"avc1.64000d,mp4a.40.2"'
    assert (stated["RESOLUTION"], stated["FRAME-RATE"], stated["AUDIO"]) == ("320x180", "29.970", '"audio"')


def test_bandwidths_are_measured_over_picture_and_sound(good_version: Path):
    stated = attributes_of(good_version, "180p")
    peak = peak_of(good_version / "180p") + peak_of(good_version / "audio")
    assert int(stated["BANDWIDTH"]) == pytest.approx(peak, abs=2)
    averages = [read_media(good_version / name).average for name in ("180p", "audio")]
    assert int(stated["AVERAGE-BANDWIDTH"]) == sum(averages) < peak


def test_without_sound_nothing_speaks_of_it(silent_version: Path):
    text = (silent_version / "master.m3u8").read_text()
    assert "AUDIO" not in text
    assert "mp4a" not in text
    stated = attributes_of(silent_version, "180p")
    assert int(stated["BANDWIDTH"]) == pytest.approx(peak_of(silent_version / "180p"), abs=1)


def test_the_lowest_quality_is_first_whatever_the_manifest_says(version: Path):
    manifest = Manifest.read(version)
    for renditions in (manifest.renditions, manifest.renditions[::-1]):
        changed(manifest, renditions=renditions).write(version)
        write_master(version)
        assert [line for line in lines_of(version) if not line.startswith("#")] == [
            "90p/playlist.m3u8",
            "180p/playlist.m3u8",
        ]


def test_it_is_replaced_not_written_over(version: Path):
    """A published version may share the bytes of the old one."""
    os.link(version / "master.m3u8", version.parent / "published.m3u8")
    old = (version / "master.m3u8").read_text()
    shutil.rmtree(version / "audio")
    changed(Manifest.read(version), audio_rate=0).write(version)
    write_master(version)
    assert (version.parent / "published.m3u8").read_text() == old != (version / "master.m3u8").read_text()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (write("180p/playlist.m3u8", b""), "180p/playlist.m3u8 cannot be used"),
        (write("180p/playlist.m3u8", b"#EXTM3U\n#EXT-X-ENDLIST\n"), "180p/playlist.m3u8 cannot be used"),
        (remove("180p/segment_00001.m4s"), "180p/playlist.m3u8 cannot be used .*segment_00001"),
        (remove("audio/playlist.m3u8"), "audio/playlist.m3u8 cannot be used"),
        (write("180p/init.mp4", b"garbage"), "180p/init.mp4 cannot be used. It is not a whole MP4 file"),
        (remove("180p/init.mp4"), "180p/init.mp4 cannot be used"),
    ],
)
def test_what_cannot_be_measured_is_named_and_the_old_one_stays(damage, said: str, version: Path):
    old = (version / "master.m3u8").read_text()
    damage(version)
    with pytest.raises(InvalidOutput, match=said):
        write_master(version)
    assert (version / "master.m3u8").read_text() == old
    assert not list(version.glob("master.m3u8?*"))


def test_the_facts_of_a_quality(good_version: Path):
    rendition = Manifest.read(good_version).renditions[0]
    size = sum(path.stat().st_size for path in (good_version / "180p").iterdir())
    bitrate = int(attributes_of(good_version, "180p")["AVERAGE-BANDWIDTH"])
    assert facts_of(good_version, rendition) == RenditionFacts(bitrate, "avc1.64000d", size)


def test_the_facts_without_sound(silent_version: Path):
    rendition = Manifest.read(silent_version).renditions[1]
    assert facts_of(silent_version, rendition).bitrate == read_media(silent_version / "90p").average


def media(*segments: tuple[float, int], target: int = 6) -> MediaPlaylist:
    """From the seconds and kilobits of segments."""
    return MediaPlaylist(
        "init.mp4", target, tuple(Segment("s", seconds, 125 * kilobits) for seconds, kilobits in segments)
    )


@pytest.mark.parametrize(
    ("playlist", "kilobits"),
    [
        (media((6, 600), (6, 1200), (6, 900)), 200),
        (media((6, 600), (0.1, 100)), 115),  # a short rest counts with what is before it, not alone
        (media((6, 600), (3, 900)), 300),  # half a target duration is enough
        (media((2, 100), (2, 500), (2, 500), (2, 100)), 250),  # a run of short ones
        (media((0.4, 100), target=1), 250),  # nothing is long enough: all there is
        (media((0.4, 100), target=0), 250),
    ],
)
def test_the_peak_is_that_of_the_rfc(playlist: MediaPlaylist, kilobits: int):
    assert playlist.peak == pytest.approx(kilobits * 1000, rel=0.01)


@pytest.mark.parametrize(("frames", "target"), [(8, 1), (15, 1), (75, 3), (104, 3), (105, 4), (106, 4)])
def test_target_durations_are_as_chromium_rounds_them(frames: int, target: int, tmp_path: Path):
    """It plays nothing of a playlist where a segment, with halves rounded up, is longer than the target duration."""
    make_picture(tmp_path / "90p", (160, 90), "-r", "30", frames=frames, segment_frames=300)
    before = (tmp_path / "90p/playlist.m3u8").read_text()
    settle_target(tmp_path / "90p")
    after = (tmp_path / "90p/playlist.m3u8").read_text()
    assert f"#EXT-X-TARGETDURATION:{target}\n" in after
    assert re.sub(r"DURATION:\d+", "", after) == re.sub(r"DURATION:\d+", "", before)


def test_a_higher_target_duration_stays(version: Path):
    path = version / "180p/playlist.m3u8"
    path.write_text(path.read_text().replace("DURATION:1", "DURATION:6"))
    settle_target(version / "180p")
    assert "#EXT-X-TARGETDURATION:6\n" in path.read_text()


def test_the_master_playlist_settles_all_target_durations(version: Path):
    for name in ("180p", "90p", "audio"):
        path = version / name / "playlist.m3u8"
        path.write_text(path.read_text().replace("DURATION:1", "DURATION:0"))
        os.link(path, version.parent / f"{name}.m3u8")
    write_master(version)
    for name in ("180p", "90p", "audio"):
        assert "#EXT-X-TARGETDURATION:1\n" in (version / name / "playlist.m3u8").read_text()
        assert "#EXT-X-TARGETDURATION:0\n" in (version.parent / f"{name}.m3u8").read_text()


def test_a_playlist_without_time_has_no_rate(version: Path):
    path = version / "180p/playlist.m3u8"
    path.write_text(re.sub(r"#EXTINF:[\d.]+", "#EXTINF:0", path.read_text()))
    with pytest.raises(InvalidOutput, match=r"180p/playlist\.m3u8 names no segment that lasts"):
        read_media(version / "180p")
