"""Add: a source becomes a video with a job to transcode it, both or neither."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import uuid4

from django.core.files import File
from django.db import IntegrityError, transaction
from django.utils.text import slugify

from jobs.db import transactional
from jobs.exceptions import JobyardError
from jobs.handlers.files import job_storage
from jobs.videos.lifecycle.orders import Order, order_transcode
from jobs.videos.models import Video
from jobs.videos.names import source_folder, source_name
from jobs.videos.source_file import Given, Measured, measure, opened, own_name, store
from jobs.videos.stored import remove_folder
from jobs.videos.wanted import check_qualities, check_title, title_of_file

LONGEST_SLUG = 50  # of the title's part; a number may follow


@dataclass(frozen=True)
class Added:
    """The new video and its job; or, `created` being False, the video that has the same content already."""

    video: Video
    job_id: int | None
    created: bool


class SlugsTaken(JobyardError):
    """No address is free for the title {title!r}; try again, or give it another title."""


def add_video(
    file: Given,
    *,
    title: str = "",
    qualities: Iterable[str] | None = None,
    strict: bool = False,
    queue: str | None = None,
    priority: int = 0,
    force: bool = False,
    split: bool | None = None,
) -> Added:
    """Store a source and order its transcoding: `add_video("film.mkv", title="A film", qualities=["720p"])`.

    Content that a video has already is not stored again, unless `force` wants a second video of it. `split` says
    whether several workers encode it at once (None: as JOBS_VIDEO_SPLIT_AFTER has it). The file is read
    and stored before the transaction begins; inside one of yours it is open meanwhile, so call it outside.
    """
    order = Order(check_qualities(qualities), strict, queue=queue, priority=priority, split=split)
    title = check_title(title)
    with opened(file) as source:
        measured = measure(source)
        if not force and (same := with_content(measured)):
            return Added(same, same.job_id, created=False)
        name = own_name(source)
        video = Video(
            pk=reserve_id(),
            title=title or title_of_file(name),
            source_name=name,
            source_size=measured.size,
            source_sha256=measured.sha256,
            is_copy=force,
        )
        return store_and_create(video, source, order)


def with_content(measured: Measured) -> Video | None:
    """The first video of this content."""
    return Video.objects.filter(source_sha256=measured.sha256).order_by("pk").first()


@transactional
def reserve_id() -> int:
    """An id that no other video gets, for the source is stored under it before there is a row.

    Both engines give an id out once, also if its row is gone: PostgreSQL by its sequence, SQLite by AUTOINCREMENT.
    """
    video = Video.objects.create(slug=uuid4().hex, source_size=0)
    video_id: int = video.pk
    video.delete()
    return video_id


def store_and_create(video: Video, source: File, order: Order) -> Added:
    """What was stored for a video that did not come into being is removed, whatever the reason."""
    storage, created = job_storage(), False
    name, measured = source_name(video.pk, video.source_name), Measured(video.source_sha256, video.source_size)
    try:
        video.source = store(storage, source, name, measured)
        added = create(video, order)
        created = added.created
    finally:
        if not created:
            remove_folder(storage, source_folder(video.pk))
    return added


@transactional
def create(video: Video, order: Order) -> Added:
    """The rows of the video and its job; or the video that somebody added with the same content meanwhile."""
    for slug in slugs(video):
        video.slug = slug
        try:
            with transaction.atomic():
                video.save(force_insert=True)
                break
        except IntegrityError:
            same = None if video.is_copy else with_content(Measured(video.source_sha256, video.source_size))
            if same:
                return Added(same, same.job_id, created=False)
    else:
        raise SlugsTaken(title=video.title)
    job_id = order_transcode(video, order).job_id
    Video.objects.filter(pk=video.pk).update(job_id=job_id)
    video.job_id = job_id
    return Added(video, job_id, created=True)


def slugs(video: Video) -> Iterator[str]:
    """Addresses to try: the title alone, with the video's own number, and with one that nobody can have."""
    plain = slugify(video.title)[:LONGEST_SLUG].strip("-_") or "video"
    yield from (plain, f"{plain}-{video.pk}", f"{plain}-{uuid4().hex[:12]}")
