"""Collect: files that nobody needs any more go; old versions, parts that were joined, what crashed attempts left, and
what removed videos had.

The storage is looked at before the rows: what appears later is not judged. An attempt whose claim is gone cannot
publish any more, so a version that is neither published nor being made now is nobody's.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.core.files.storage import Storage

from jobs.conf import conf
from jobs.handlers.files import job_storage
from jobs.models import Dependency, Job
from jobs.models.job import KEEPS_KEY
from jobs.selectors.clock import database_now
from jobs.serving.stored_file import modified_at
from jobs.states import ACTIVE, Status
from jobs.videos.exceptions import NotCollected
from jobs.videos.lifecycle.orders import at_the_next_hour, key_of, order_collect
from jobs.videos.models import Video
from jobs.videos.names import (
    SOURCES,
    VERSIONS,
    folder_of,
    job_of_version,
    part_folder,
    parts_folder,
    source_folder,
    version_folder,
    version_of,
    video_of_folder,
)
from jobs.videos.stored import files_in, folders_in, remove_file, remove_folder, remove_if_empty

logger = logging.getLogger("jobs.videos")
# A source comes into the storage before its video comes into the database. The storage's clock may be a little off.
ABANDONED_AFTER = timedelta(days=1)


@dataclass
class Collected:
    """What was removed of a video, what could not be, and when something that is kept for now may go."""

    video_id: int
    removed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    look_again: datetime | None = None

    def keep_until(self, moment: datetime) -> None:
        self.look_again = min(self.look_again or moment, moment)

    def note(self, name: str, *, gone: bool) -> None:
        (self.removed if gone else self.failed).append(name)


def collect(video_id: int) -> Collected:
    """What the kind `videos.collect` does. It orders its own next look as long as there is something to come."""
    collected = collect_now(video_id)
    if collected.look_again:
        order_collect(video_id, at_the_next_hour(collected.look_again))
    if collected.failed:
        raise NotCollected(video=video_id, names=", ".join(collected.failed))
    return collected


def collect_all(*, dry_run: bool = False) -> Iterator[Collected]:
    """Every video that has something in the storage, one after the other; for cron."""
    storage = job_storage()
    shelves = (folders_in(storage, VERSIONS), folders_in(storage, SOURCES))
    ids = {video_of_folder(name) for names in shelves for name in names}
    return (collect_now(video_id, dry_run=dry_run) for video_id in sorted(filter(None, ids)))


def collect_now(video_id: int, *, dry_run: bool = False) -> Collected:
    storage, collected = job_storage(), Collected(video_id)
    versions = [name for name in folders_in(storage, folder_of(video_id)) if job_of_version(name)]
    sources = [f"{source_folder(video_id)}/{name}" for name in files_in(storage, source_folder(video_id))]
    parts = [name for name in folders_in(storage, parts_folder(video_id)) if job_of_version(name)]
    under_way = being_made(versions)  # before the video: a version that is published in between is seen as one of both
    in_use = being_made(parts) | still_wanted(video_id) if parts else set()  # in this order, as above
    idle = [name for name in parts if name not in in_use]
    video = Video.objects.filter(pk=video_id).first()
    doomed = unneeded(video, versions, under_way, collected)
    abandoned = abandoned_sources(storage, [name for name in sources if not video or name != video.source], collected)
    folders = [version_folder(video_id, name) for name in doomed] + [part_folder(video_id, name) for name in idle]
    if dry_run:
        collected.removed = folders + abandoned
        return collected
    for name in folders:
        collected.note(name, gone=remove_folder(storage, name))
    for name in abandoned:
        collected.note(name, gone=remove_file(storage, name))
    remove_if_empty(storage, parts_folder(video_id))
    if video is None:
        remove_if_empty(storage, folder_of(video_id))
        remove_if_empty(storage, source_folder(video_id))
    if collected.removed:
        logger.info("collected video=%d removed=%s", video_id, ",".join(collected.removed))
    return collected


def unneeded(video: Video | None, versions: Sequence[str], under_way: set[str], collected: Collected) -> list[str]:
    """The versions that may go now."""
    left = [name for name in versions if video is None or name != video.version]
    if not left:
        return []
    now = database_now()
    under_way = under_way | carried_over(video)
    if under_way & set(left):
        collected.keep_until(now)
    left = [name for name in left if name not in under_way]
    if left and video and video.published_at:
        # The youngest of them stopped being the published one at that moment, the others before.
        old_at = video.published_at + timedelta(seconds=conf.VIDEO_KEEP_OLD)
        if old_at > now:
            collected.keep_until(old_at)
            return []
    return left


def being_made(versions: Iterable[str]) -> set[str]:
    """Those that a running attempt is making: their names say by which claim on which job."""
    jobs = {job_of_version(name) for name in versions}
    running = Job.objects.running().with_ids(filter(None, jobs)).values_list("pk", "claim_id")
    return {version_of(job_id, claim_id) for job_id, claim_id in running if claim_id}


def still_wanted(video_id: int) -> set[str]:
    """The parts that other workers made for a job that has not ended: it still has to join them."""
    jobs = Job.objects.filter(KEEPS_KEY, dedupe_key=key_of(video_id)).values("pk")
    made = Job.objects.filter(pk__in=Dependency.objects.filter(job__in=jobs).spawned().values("needs"))
    results = made.filter(status=Status.COMPLETED).values_list("result", flat=True)
    return {str(result.get("folder")).rpartition("/")[2] for result in results if isinstance(result, dict)}


def carried_over(video: Video | None) -> set[str]:
    """The version of which the video's next one is to take over qualities."""
    if video is None:
        return set()
    payloads = video.own_job().filter(status__in=ACTIVE).values_list("payload", flat=True)
    return {(payload.get("carry") or {}).get("version", "") for payload in payloads}


def abandoned_sources(storage: Storage, names: Sequence[str], collected: Collected) -> list[str]:
    """Sources without a video that are older than one that is being added right now could be."""
    now, abandoned = database_now(), []
    for name in names:
        written = modified_at(storage, name)
        if written is None:
            continue
        if written + ABANDONED_AFTER <= now:
            abandoned.append(name)
        else:
            collected.keep_until(written + ABANDONED_AFTER)
    return abandoned
