"""Sources of every sort become versions that an independent checker finds right."""

import shutil
from fractions import Fraction
from pathlib import Path

import av
import pytest

from jobs.handlers.ffmpeg import find_ffmpeg
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import release
from jobs.models import Job
from jobs.states import PhaseStatus, QualityStatus, Status
from jobs.videos.lifecycle.remove import remove_video
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.transcoding.manifest import Manifest
from jobs.videos.transcoding.validate import problems_of
from jobs.worker.messages import Reason
from tests.videos import bad_sources, sources
from tests.videos.checker import check
from tests.videos.studio import Studio

pytestmark = [pytest.mark.once, pytest.mark.django_db]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sources")


@pytest.fixture
def studio(media: Path, tmp_path: Path) -> Studio:
    return Studio(tmp_path / "work")


@pytest.fixture(scope="session")
def two_rungs(folder: Path) -> Path:
    """Just large enough for 480p and 360p, and two segments long."""
    path = folder / "two.mp4"
    graphs = sources.lavfi("testsrc2=size=854x480:rate=10:duration=8", "sine=duration=8")
    sources.ffmpeg(*graphs, *sources.X264, *sources.AAC, path)
    return path


TWO = {"480p": (854, 480), "360p": (640, 360)}
WIDE = {"180p": (320, 180)}
BAD = [
    bad_sources.noise,
    bad_sources.song,
    bad_sources.album,
    bad_sources.cut,
    bad_sources.cut_faststart,
    bad_sources.cut_matroska,
    bad_sources.hole,
]


@pytest.mark.parametrize(
    ("name", "sizes", "rate", "sound"),
    [
        ("landscape", WIDE, 30, True),
        ("portrait", {"180p": (180, 320)}, 30, True),
        ("rotated", {"180p": (180, 320)}, 30, True),
        ("anamorphic", None, 30, True),
        ("variable", WIDE, None, None),
        ("sixty", WIDE, 60, None),
        ("ten_bit", WIDE, 30, None),
        ("hdr", WIDE, None, None),
        ("interlaced", WIDE, None, None),
        ("silent", WIDE, 30, False),
        ("surround", WIDE, 30, True),
        ("tiny", None, None, None),
        ("odd", None, None, None),
        ("film", WIDE, Fraction(24000, 1001), None),
        ("late_picture", WIDE, None, True),
        ("with_cover", WIDE, 30, True),
    ],
)
def test_every_sort_of_source_becomes_a_version_that_can_be_played(
    studio: Studio, folder: Path, name, sizes, rate, sound
):
    video = studio.transcoded(sources.make(name, folder))
    assert studio.job_of(video).status == Status.COMPLETED, studio.job_of(video).last_error
    version = studio.folder_of(video)
    manifest = Manifest.read(version)
    assert rate in (None, manifest.frame_rate)
    assert sound in (None, bool(manifest.audio_rate))
    stored = {rendition.name: (rendition.width, rendition.height) for rendition in manifest.renditions}
    assert sizes in (None, stored)
    checked = check(
        version,
        duration=manifest.duration,
        frame_rate=manifest.frame_rate,
        sizes=stored,
        audio=bool(manifest.audio_rate),
        frames=manifest.frames,
    )
    assert set(checked.frames.values()) == {manifest.frames}
    assert problems_of(version, thorough=True) == []
    assert video.duration == pytest.approx(manifest.duration)


SIZES = [(640, 360), (854, 480), (1280, 720), (1920, 1080), (2560, 1440), (3840, 2160)]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[1]}p")
@pytest.mark.parametrize("portrait", [False, True], ids=["landscape", "portrait"])
def test_every_size_becomes_every_rung_that_fits_into_it(studio: Studio, folder: Path, size, portrait):
    width, height = reversed(size) if portrait else size
    source = folder / f"{width}x{height}.mp4"
    sources.ffmpeg(*sources.lavfi(f"testsrc2=size={width}x{height}:rate=10:duration=0.5"), *sources.X264, source)
    video = studio.transcoded(source)
    fitting = {f"{short}p": (long, short) for long, short in SIZES if short <= size[1]}
    sizes = {name: (short, long) if portrait else (long, short) for name, (long, short) in fitting.items()}
    check(studio.folder_of(video), duration=0.5, frame_rate=10, sizes=sizes, audio=False, frames=5)


@pytest.mark.parametrize(
    "name", ["a b.mp4", 'it\'s "quoted".mp4', "-i.mp4", "größe 映画.mp4", "100%d.mp4", "file:x.mp4"]
)
def test_no_name_of_a_file_gets_in_the_way(studio: Studio, folder: Path, name: str):
    video = studio.transcoded(sources.named(name, folder))
    assert video.status == "ready", studio.job_of(video).last_error  # type: ignore[attr-defined]
    assert video.source_name == name


@pytest.mark.parametrize("make", BAD, ids=lambda make: make.__name__)
def test_what_cannot_be_transcoded_fails_at_once_for_good(studio: Studio, folder: Path, make):
    video = studio.transcoded(make(folder))
    job = studio.job_of(video)
    assert (job.status, job.attempt) == (Status.FAILED, 1)
    assert "The source cannot be transcoded" in job.last_error
    assert (video.status, video.version) == ("failed", "")  # type: ignore[attr-defined]
    assert video.error == job.last_error  # type: ignore[attr-defined]


def test_phases_and_qualities_are_told_of(studio: Studio, two_rungs: Path):
    job = studio.job_of(studio.transcoded(two_rungs))
    phases = list(job.phases.order_by("position").values_list("name", "status"))
    names = ("probe", "thumbnail", "transcode", "master_playlist", "finalize")
    assert phases == [(name, PhaseStatus.COMPLETED) for name in names]
    qualities = {quality.name: quality for quality in job.qualities.all()}
    made = {name for name, quality in qualities.items() if quality.status == QualityStatus.COMPLETED}
    assert made == set(TWO)
    assert {name for name, quality in qualities.items() if quality.status == QualityStatus.SKIPPED} == {
        "2160p", "1440p", "1080p", "720p"
    }  # fmt: skip
    assert "only 480 lines" in qualities["720p"].error
    best = qualities["480p"]
    assert (best.progress, best.segments_completed, best.segments_total) == (100, 2, 2)
    assert best.details["encoder"] == "libx264"


def test_progress_never_goes_back_and_is_not_done_before_it_was_checked(studio: Studio, two_rungs: Path):
    studio.transcoded(two_rungs)
    overall = [told.progress for told in studio.reporter.reports if told.progress is not None]
    assert overall == sorted(overall)
    for name in TWO:
        told = [each for report in studio.reporter.reports for each in report.qualities if each.name == name]
        percents = [each.progress for each in told if each.progress is not None]
        assert percents == sorted(percents)
        assert all(percent <= 99 for percent in percents[: -len([p for p in percents if p == 100])])


def test_a_crash_after_everything_was_stored_publishes_once_and_encodes_nothing_again(
    studio: Studio, two_rungs, caplog
):
    video = studio.add(two_rungs)
    first = studio.claim()
    outcome = studio.run(first)
    assert outcome is not None
    release(first.claim, "its worker is gone")
    caplog.clear()
    caplog.set_level("INFO")
    second = studio.claim()
    assert second.claim != first.claim
    stored = studio.stored(first)
    assert studio.finish(studio.run(second)).status == Status.COMPLETED
    assert "chunk encoded" not in caplog.text
    assert studio.stored(first) == stored  # not a byte of what an earlier attempt had stored
    assert studio.finish(outcome).repeated  # the first claim has ended: its outcome changes nothing any more
    video = studio.reload(video)
    assert video.version == f"{second.id}-{second.claim.claim_id.hex[:8]}"
    assert problems_of(studio.folder_of(video)) == []


def test_what_another_machine_had_encoded_is_made_here_again(studio: Studio, two_rungs: Path, tmp_path: Path):
    """Phases that ended there have results, but their files are not here."""
    studio.add(two_rungs)
    first = studio.claim()
    assert studio.run(first) is not None
    release(first.claim, "its worker is gone")
    elsewhere = Studio(tmp_path / "elsewhere")
    assert elsewhere.transcode().status == Status.COMPLETED


def test_named_qualities_are_transcoded_again_and_the_others_carried_over(studio: Studio, two_rungs: Path, caplog):
    video = studio.transcoded(two_rungs)
    before = studio.folder_of(video)
    kept = (before / "480p" / "segment_00000.m4s").read_bytes()
    retranscode(video, ["360p"])
    caplog.clear()
    caplog.set_level("INFO")
    assert studio.transcode().status == Status.COMPLETED
    assert "quality=360p" in caplog.text
    assert "quality=480p" not in caplog.text
    video = studio.reload(video)
    after = studio.folder_of(video)
    assert after != before
    assert (after / "480p" / "segment_00000.m4s").read_bytes() == kept
    check(after, duration=8, frame_rate=10, sizes=TWO, audio=True, frames=80)
    assert problems_of(before, thorough=True) == []  # whoever watches the old one can go on


def test_only_wanted_qualities_are_made(studio: Studio, two_rungs: Path):
    video = studio.transcoded(two_rungs, qualities=["360p"])
    assert [quality.name for quality in video.qualities.all()] == ["360p"]


def test_wanted_qualities_that_the_source_is_too_small_for_are_refused(studio: Studio, two_rungs: Path):
    video = studio.transcoded(two_rungs, qualities=["1080p"])
    assert "only 480 lines, too few for 1080p" in studio.job_of(video).last_error


def in_the_way(studio: Studio, video, quality: str) -> Path:
    """Makes one quality fail: a file lies where its chunks should be."""
    obstacle = studio.folders.make_workdir(video.job_id) / "chunks" / quality
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("in the way")
    return obstacle


def test_a_quality_that_fails_is_tried_again_before_the_others_are_published(
    studio: Studio, two_rungs, settings, caplog
):
    settings.JOBS_BACKOFF_BASE = 0
    video = studio.add(two_rungs)
    obstacle = in_the_way(studio, video, "480p")
    assert studio.transcode().status == Status.PENDING
    obstacle.unlink()
    caplog.clear()
    caplog.set_level("INFO")
    assert studio.transcode().status == Status.COMPLETED
    assert "quality=360p" not in caplog.text
    check(studio.folder_of(studio.reload(video)), duration=8, frame_rate=10, sizes=TWO, audio=True, frames=80)


def test_one_that_fails_to_the_last_is_shown_and_the_others_are_published(studio: Studio, two_rungs: Path, settings):
    settings.JOBS_MAX_ATTEMPTS = 1
    video = studio.add(two_rungs)
    in_the_way(studio, video, "480p")
    assert studio.transcode().status == Status.COMPLETED
    video = studio.reload(video)
    assert [quality.name for quality in video.qualities.all()] == ["360p"]
    assert "Not a directory" in video.failed_qualities["480p"]
    assert studio.job_of(video).qualities.get(name="480p").status == QualityStatus.FAILED


def test_then_that_quality_alone_can_be_tried_again(studio: Studio, two_rungs: Path, caplog, settings):
    settings.JOBS_MAX_ATTEMPTS = 1
    video = studio.add(two_rungs)
    in_the_way(studio, video, "480p")
    studio.transcode()
    retranscode(video, ["480p"])
    caplog.clear()
    caplog.set_level("INFO")
    assert studio.transcode().status == Status.COMPLETED
    assert "quality=360p" not in caplog.text
    video = studio.reload(video)
    assert video.failed_qualities == {}
    check(studio.folder_of(video), duration=8, frame_rate=10, sizes=TWO, audio=True, frames=80)


def test_a_published_quality_that_cannot_be_made_anew_is_kept(studio: Studio, two_rungs: Path, settings):
    video = studio.transcoded(two_rungs)
    old = (studio.folder_of(video) / "480p" / "segment_00000.m4s").read_bytes()
    settings.JOBS_MAX_ATTEMPTS = 1
    retranscode(video)
    in_the_way(studio, studio.reload(video), "480p")
    assert studio.transcode().status == Status.COMPLETED
    video = studio.reload(video)
    assert (studio.folder_of(video) / "480p" / "segment_00000.m4s").read_bytes() == old
    check(studio.folder_of(video), duration=8, frame_rate=10, sizes=TWO, audio=True, frames=80)


@pytest.mark.parametrize("gone", ["work", "work/version-*", "work/chunks"])
def test_whatever_was_lost_of_the_work_is_made_again(studio: Studio, two_rungs: Path, settings, gone: str):
    """As after `retry_jobs` of a job that had failed, or on another machine."""
    settings.JOBS_BACKOFF_BASE = 0
    video = studio.add(two_rungs, strict=True)
    obstacle = in_the_way(studio, video, "480p")
    assert studio.transcode().status == Status.PENDING
    obstacle.unlink()
    workdir = studio.folders.workdir_of(video.job_id or 0)
    for folder in workdir.parent.glob(gone.replace("work", str(video.job_id), 1)):
        shutil.rmtree(folder)
    assert studio.transcode().status == Status.COMPLETED


def test_what_is_carried_is_carried_also_when_the_last_phase_runs_elsewhere(studio: Studio, two_rungs, tmp_path: Path):
    video = studio.transcoded(two_rungs)
    retranscode(video, ["360p"])
    first = studio.claim()
    assert studio.run(first) is not None
    release(first.claim, "its worker is gone")
    elsewhere = Studio(tmp_path / "elsewhere")
    assert elsewhere.transcode().status == Status.COMPLETED
    assert {quality.name for quality in studio.reload(video).qualities.all()} == set(TWO)


def test_the_sound_stays_as_good_as_the_best_quality_needs(studio: Studio, folder: Path):
    source = folder / "hd.mp4"
    sources.ffmpeg(*sources.lavfi("testsrc2=size=1280x720:rate=10:duration=2", "sine=duration=2"), *sources.X264,
                   *sources.AAC, source)  # fmt: skip
    video = studio.transcoded(source, qualities=["720p", "360p"])
    assert Manifest.read(studio.folder_of(video)).audio_rate == 128
    retranscode(video, ["360p"])
    studio.transcode()
    assert Manifest.read(studio.folder_of(studio.reload(video))).audio_rate == 128


@pytest.mark.parametrize(
    "wrong",
    [
        {"video": None}, {"video": "1"}, {"video": True}, {"source": 5}, {"source": "../../etc/passwd"},
        {"source": "sources/{other}/film.mp4"}, {"source": "sources/{video}/../{other}/film.mp4"},
        {"qualities": "360p"}, {"qualities": ["../x"]}, {"carry": {"version": "../17/1-abcdef01", "qualities": []}},
        {"carry": ["360p"]}, {"strict": "yes"},
    ],
    ids=str,
)  # fmt: skip
def test_a_payload_that_was_written_by_hand_and_is_wrong_fails_at_once(
    studio: Studio, folder: Path, media: Path, wrong
):
    video = studio.add(sources.landscape(folder))
    cancel([video.job_id or 0])
    payload = {"video": video.pk, "source": video.source, **wrong}
    if isinstance(payload["source"], str):
        payload["source"] = payload["source"].format(video=video.pk, other=video.pk + 1)
    job_id = enqueue("transcode.hls", payload).job_id
    assert studio.transcode().status == Status.FAILED
    assert "The payload cannot be transcoded" in Job.objects.get(pk=job_id).last_error
    assert not (media / "videos").exists()


def test_a_transport_stream_is_transcoded(studio: Studio, folder: Path):
    assert studio.transcoded(sources.container("ts", folder)).status == "ready"  # type: ignore[attr-defined]


def test_a_still_that_lasts_over_the_boundary_of_a_chunk_stays_where_it_is(studio: Studio, folder: Path, settings):
    """White from 5 to 20 s, and no other picture in between: at 6, 12 and 18 s chunks begin."""
    settings.JOBS_VIDEO_CHUNK_SEGMENTS = 1
    source = folder / "still.mkv"
    graph = "color=black:size=64x36:rate=10:duration=5[a];color=white:size=64x36:rate=10:duration=0.1[b];"
    graph += "color=black:size=64x36:rate=10:duration=4,setpts=PTS+15/TB[c];[a][b]concat[d];[d][c]interleave"
    sources.ffmpeg("-filter_complex", graph, "-fps_mode", "passthrough", "-c:v", "libx264", "-bf", "0", source)
    video = studio.transcoded(source)
    assert studio.job_of(video).status == Status.COMPLETED, studio.job_of(video).last_error
    version = studio.folder_of(video)
    parts = sorted(path for path in (version / "36p").iterdir() if path.suffix in (".mp4", ".m4s"))
    whole = version.parent / "whole.mp4"
    whole.write_bytes(b"".join(part.read_bytes() for part in parts))
    with av.open(str(whole)) as container:
        white = [bytes(frame.planes[0])[0] > 128 for frame in container.decode(video=0)]
    assert white.index(True) == pytest.approx(50, abs=1)
    assert sum(white) == pytest.approx(100, abs=2)


def test_a_source_of_one_picture_is_transcoded(studio: Studio, folder: Path):
    source = folder / "one.mp4"
    sources.ffmpeg(*sources.lavfi("testsrc2=size=64x36:rate=25:duration=0.04"), *sources.X264, source)
    video = studio.transcoded(source)
    assert video.status == "ready", studio.job_of(video).last_error  # type: ignore[attr-defined]


@pytest.mark.parametrize(("seconds", "from_second"), [(8, 1.9), (30, 4.9)])
def test_the_thumbnail_shows_the_fifth_second_or_the_first_quarter(studio: Studio, folder: Path, seconds, from_second):
    """Black before, white after."""
    source = folder / f"turns-white-{seconds}.mp4"
    graph = f"color=black:size=64x36:rate=10:duration={from_second}[a];"
    graph += f"color=white:size=64x36:rate=10:duration={seconds - from_second}[b];[a][b]concat"
    sources.ffmpeg("-filter_complex", graph, *sources.X264, source)
    thumbnail = studio.folder_of(studio.transcoded(source)) / "thumbnail.jpg"
    with av.open(str(thumbnail)) as container:
        assert bytes(next(container.decode(video=0)).planes[0])[0] > 128


def test_what_does_not_pass_the_check_is_not_published_and_made_anew(studio: Studio, folder, media, settings, tmp_path):
    """A segment is lost after the join, as a bad disk would lose it."""
    settings.JOBS_BACKOFF_BASE = 0
    losing = tmp_path / "ffmpeg"
    losing.write_text(f'#!/bin/sh\n{find_ffmpeg()} "$@" || exit\ncase "$*" in *concat*) rm segment_00000.m4s;; esac\n')
    losing.chmod(0o755)
    settings.JOBS_FFMPEG = str(losing)
    video = studio.add(sources.landscape(folder))
    assert studio.transcode().status == Status.PENDING
    assert "The output is not as it should be" in studio.job_of(video).last_error
    assert not (media / "videos").exists()
    settings.JOBS_FFMPEG = ""
    assert studio.transcode().status == Status.COMPLETED


def test_a_per_cent_sign_in_the_work_directory_does_no_harm(folder: Path, media: Path, tmp_path: Path):
    studio = Studio(tmp_path / "100%d %s")
    assert studio.transcoded(sources.landscape(folder)).status == "ready"  # type: ignore[attr-defined]


def test_where_all_are_wanted_one_that_fails_fails_the_job_and_the_next_attempt_keeps_the_rest(
    studio: Studio, two_rungs: Path, settings, caplog
):
    settings.JOBS_BACKOFF_BASE = 0
    video = studio.add(two_rungs, strict=True)
    obstacle = in_the_way(studio, video, "480p")
    assert studio.transcode().status == Status.PENDING
    obstacle.unlink()
    caplog.clear()
    caplog.set_level("INFO")
    assert studio.transcode().status == Status.COMPLETED
    assert "quality=480p" in caplog.text
    assert "quality=360p" not in caplog.text
    check(studio.folder_of(studio.reload(video)), duration=8, frame_rate=10, sizes=TWO, audio=True, frames=80)


def test_without_keeping_completed_qualities_an_attempt_starts_afresh(studio: Studio, two_rungs, settings, caplog):
    settings.JOBS_BACKOFF_BASE, settings.JOBS_KEEP_COMPLETED_QUALITIES = 0, False
    video = studio.add(two_rungs, strict=True)
    obstacle = in_the_way(studio, video, "480p")
    settings.JOBS_KEEP_COMPLETED_QUALITIES = True  # the obstacle is in the folder that starting afresh would remove
    assert studio.transcode().status == Status.PENDING
    obstacle.unlink()
    settings.JOBS_KEEP_COMPLETED_QUALITIES = False
    caplog.clear()
    caplog.set_level("INFO")
    assert studio.transcode().status == Status.COMPLETED
    assert "quality=360p" in caplog.text


def test_a_cancelled_transcode_publishes_nothing(studio: Studio, two_rungs: Path):
    video = studio.add(two_rungs)
    job = studio.claim()
    cancel([job.id])

    class Cancelling(type(studio.reporter)):  # type: ignore[misc]
        def report(self, told) -> None:
            super().report(told)
            if told.qualities and studio.attempt:
                studio.attempt.reason = Reason.CANCELLED

    studio.reporter = Cancelling()
    assert studio.finish(studio.run(job)).status == Status.CANCELLED
    assert studio.reload(video).version == ""


def test_a_video_that_was_removed_meanwhile_is_not_published(studio: Studio, folder: Path):
    video = studio.add(sources.landscape(folder))
    job = studio.claim()
    outcome = studio.run(job)
    remove_video(video)
    assert studio.finish(outcome).status == Status.COMPLETED
    assert not type(video).objects.filter(pk=video.pk).exists()


def test_a_lost_claim_stores_nothing(studio: Studio, folder: Path, media: Path):
    video = studio.add(sources.landscape(folder))
    job = studio.claim()
    release(job.claim, "taken away")
    assert studio.finish(studio.run(job)).repeated
    assert list((media / "videos").rglob("*")) == []
    assert studio.reload(video).version == ""


def test_a_source_that_is_away_for_a_while_is_tried_again(studio: Studio, folder: Path, media: Path, settings):
    settings.JOBS_BACKOFF_BASE = 0
    video = studio.add(sources.landscape(folder))
    source = media / video.source
    hidden = source.with_suffix(".away")
    source.rename(hidden)
    assert studio.transcode().status == Status.PENDING  # a disk that is away may come back: it is tried again
    hidden.rename(source)
    assert studio.transcode().status == Status.COMPLETED
    assert studio.reload(video).status == "ready"  # type: ignore[attr-defined]
