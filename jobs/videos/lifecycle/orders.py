"""The jobs of a video: what a worker is told to do for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from jobs.lifecycle.enqueue import Enqueued, enqueue
from jobs.videos.models import Video

TRANSCODE, COLLECT = "transcode.hls", "videos.collect"
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Order:
    """What is to be made of a source, and how the job waits for it."""

    qualities: Sequence[str] | None = None  # None: all that the source has the size for
    strict: bool = False  # a quality that fails fails them all
    carry: dict[str, Any] | None = None  # what is taken over from the published version
    queue: str | None = None
    priority: int = 0
    split: bool | None = None  # whether several workers encode it; None: as JOBS_VIDEO_SPLIT_AFTER says


def key_of(video_id: int) -> str:
    """One video has at most one job that waits or runs."""
    return f"video:{video_id}"


def order_transcode(video: Video, order: Order) -> Enqueued:
    payload: dict[str, Any] = {
        "video": video.pk,
        "source": video.source,
        "qualities": None if order.qualities is None else list(order.qualities),
        "carry": order.carry,
        "strict": order.strict,
    }
    if order.split is not None:
        payload["split"] = order.split
    return enqueue(
        TRANSCODE,
        payload,
        subject=video.title,
        size=video.source_size,
        dedupe_key=key_of(video.pk),
        queue=order.queue,
        priority=order.priority,
    )


def order_collect(video_id: int, due: datetime | None = None) -> Enqueued:
    """Have a worker remove what nobody needs any more, now or when it is due. The same order twice is one job."""
    key = f"collect:{video_id}" + (f":{due.timestamp():.0f}" if due else "")
    return enqueue(COLLECT, {"video": video_id}, subject=f"video {video_id}", dedupe_key=key, run_after=due)


def at_the_next_hour(moment: datetime) -> datetime:
    """So that several who ask for another look soon ask for the same one."""
    return moment.replace(minute=0, second=0, microsecond=0) + HOUR
