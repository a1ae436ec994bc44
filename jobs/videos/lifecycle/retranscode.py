"""Retranscode: a video gets a new version, whole or in some qualities. The old one is watched until it is there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.db import transactional
from jobs.states import ACTIVE
from jobs.videos.lifecycle.locked_video import lock_with_job
from jobs.videos.lifecycle.orders import Order, order_transcode
from jobs.videos.models import Video
from jobs.videos.wanted import check_qualities


@dataclass(frozen=True)
class Ordered:
    """The new job; or, `created` being False, the one that is pending or running already."""

    job_id: int
    created: bool


@transactional
def retranscode(
    video: Video,
    qualities: Iterable[str] | None = None,
    strict: bool = False,
    *,
    queue: str | None = None,
    priority: int = 0,
    split: bool | None = None,
) -> Ordered:
    """Order a new version: of all qualities, or of the named ones, beside which the published others are kept."""
    video, job = lock_with_job(video.pk)
    published = list(video.qualities.values_list("name", flat=True))
    wanted = check_qualities(qualities, also=[*published, *video.failed_qualities])
    if job and job.status in ACTIVE:
        return Ordered(job.pk, created=False)
    order = Order(wanted, strict, carried(video, wanted, published), queue, priority, split)
    # An older job of this video that somebody retried is met here, too: from now on it is the one that counts.
    enqueued = order_transcode(video, order)
    Video.objects.filter(pk=video.pk).update(job_id=enqueued.job_id)
    return Ordered(enqueued.job_id, enqueued.created)


def carried(video: Video, wanted: Sequence[str] | None, published: Sequence[str]) -> dict[str, Any] | None:
    """What the new version takes over unchanged from the published one, and where it finds what it fails to make."""
    kept = [name for name in published if wanted is not None and name not in wanted]
    return {"version": video.version, "qualities": kept} if video.version else None
