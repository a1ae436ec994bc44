"""How the admin shows a video: small pieces of HTML, in which texts of others stay texts."""

from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.admin import display
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join

from jobs.models import QualityProgress
from jobs.states import ACTIVE, QualityStatus
from jobs.videos.models import Video, VideoQuality
from jobs.videos.selectors import bars_of
from jobs.videos.shown import texts
from jobs.videos.shown.live import percent_of

# A function is not called as a column is: the admin would show that one's help text below it.
NONE = "none"


@display(description="status")
def status(video: Any) -> str:
    return format_html('<span class="video-status {}">{}</span>', video.status, video.status)


@display(description="error")
def error(video: Any) -> str:
    return format_html('<div class="video-error">{}</div>', video.error) if video.error else NONE


@display(description="qualities")
def made(video: Video) -> str:
    failed = f" (failed: {', '.join(video.failed_qualities)})" if video.failed_qualities else ""
    return format_html('<span class="video-qualities">{}{}</span>', names_of_qualities(video), failed)


def names_of_qualities(video: Video) -> str:
    return ", ".join(quality.name for quality in video.qualities.all())


@display(description="duration", ordering="duration")
def length(video: Video) -> str:
    return texts.clock(video.duration)


@display(description="size", ordering="size")
def size_on_disk(video: Video) -> str:
    return "" if video.size is None else filesizeformat(video.size)


@display(description="size")
def upload_size(video: Video) -> str:
    return filesizeformat(video.source_size)


@display(description="size")
def quality_size(quality: VideoQuality) -> str:
    return filesizeformat(quality.size)


@display(description="bitrate")
def quality_bitrate(quality: VideoQuality) -> str:
    return texts.bitrate(quality.bitrate)


@display(description="progress")
def progress(video: Video) -> str:
    """Of the version that is being made; nothing where none is."""
    if video.job is None or video.job.status not in ACTIVE:
        return ""
    return bar(percent_of(video.job, told_qualities(video)), video.job.step or video.job.get_status_display())


@display(description="qualities of its job")
def quality_bars(video: Video) -> str:
    rows = told_qualities(video)
    if not rows:
        return "nothing reported yet" if video.job and video.job.status in ACTIVE else ""
    cells = ((row.name, bar(row.progress), told_of(row)) for row in rows)
    body = format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", cells)
    return format_html('<table class="video-bars">{}</table>', body)


def tell_qualities(videos: Collection[Video]) -> None:
    """Ask once for a whole page of the list."""
    told = bars_of({video.job_id for video in videos if video.job_id})
    for video in videos:
        video.told = told.get(video.job_id or 0, [])  # type: ignore[attr-defined]


def told_qualities(video: Any) -> list[QualityProgress]:
    if not hasattr(video, "told"):
        tell_qualities([video])
    return list(video.told)


def told_of(row: QualityProgress) -> str:
    """How fast it goes, or how it ended."""
    details = row.details if isinstance(row.details, dict) else {}
    if row.status == QualityStatus.IN_PROGRESS:
        return texts.facts(row.segments_completed, row.segments_total, details) or "starting"
    return f"{row.get_status_display()}: {row.error}" if row.error else row.get_status_display()


def bar(percent: int, text: str = "") -> str:
    drawn = '<span class="video-bar"><progress max="100" value="{}"></progress>{} %</span> {}'
    return format_html(drawn, percent, percent, text)


@display(description="could not be made")
def missing(video: Video) -> str:
    lines = format_html_join("", '<div class="video-error">{}: {}</div>', video.failed_qualities.items())
    return lines or NONE


@display(description="page")
def page_link(video: Video) -> str:
    address = page_address(video)
    return format_html('<a href="{}">{}</a>', address, address) if address else NONE


@display(description="page")
def short_page_link(video: Video) -> str:
    address = page_address(video)
    return format_html('<a href="{}">open</a>', address) if address else ""


def page_address(video: Video) -> str:
    try:
        return reverse("videos:page", args=[video.slug])
    except NoReverseMatch:  # the project leaves the pages out
        return ""


@display(description="job")
def job_link(video: Video) -> str:
    if video.job is None:
        return f"job {video.job_id} was cleared" if video.job_id else ""
    job = video.job
    return format_html('<a href="{}">job {}</a>, {}', job_address(video), job.pk, job.get_status_display())


@display(description="job")
def short_job_link(video: Video) -> str:
    return format_html('<a href="{}">{}</a>', job_address(video), video.job.pk) if video.job else ""


def job_address(video: Video) -> str:
    return reverse("admin:jobs_job_change", args=[video.job_id])


def to_be_deleted(videos: Iterable[Video]) -> list[Any]:
    """As the admin lists it: a video, and below it what goes with it."""
    listed: list[Any] = []
    for video in videos:
        parts = [f"its source: {video.source_name}, {filesizeformat(video.source_size)}"]
        if video.version:
            parts.append(f"its published version: {names_of_qualities(video)}, {filesizeformat(video.size or 0)}")
        listed += [f"Video: {video}", parts]
    return listed
