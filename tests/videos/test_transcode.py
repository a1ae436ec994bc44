"""Sources of every sort become versions that an independent checker finds right."""

from fractions import Fraction
from pathlib import Path

import pytest

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import release
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


def test_a_quality_that_fails_is_shown_and_the_others_are_published(studio: Studio, two_rungs: Path):
    video = studio.add(two_rungs)
    in_the_way(studio, video, "480p")
    assert studio.transcode().status == Status.COMPLETED
    video = studio.reload(video)
    assert [quality.name for quality in video.qualities.all()] == ["360p"]
    assert "File exists" in video.failed_qualities["480p"]
    assert studio.job_of(video).qualities.get(name="480p").status == QualityStatus.FAILED


def test_then_that_quality_alone_can_be_tried_again(studio: Studio, two_rungs: Path, caplog):
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
