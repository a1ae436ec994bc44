"""Who is told what: each frame is written once, and given to all readers that want it."""

from dataclasses import dataclass, field
from typing import Any

from jobs.api.events.frames import frame
from jobs.api.events.source import News
from jobs.api.events.wanted import Topic, Wanted

Frame = tuple[str, bytes]  # what it is about, and how it is sent


@dataclass
class Shared:
    """The frames of one look, each made once."""

    jobs: dict[int, Frame] = field(default_factory=dict)
    gone: dict[int, Frame] = field(default_factory=dict)
    workers: list[Frame] = field(default_factory=list)
    depth: list[Frame] = field(default_factory=list)
    many: list[Frame] = field(default_factory=list)


def shared_frames(news: News) -> Shared:
    away = news.gone.keys() | news.left.keys()
    return Shared(
        jobs={job_id: (f"job {job_id}", frame("job", summary)) for job_id, summary in news.jobs.items()},
        gone={job_id: (f"job {job_id}", frame("gone", {"id": job_id})) for job_id in away},
        workers=[
            *((f"worker {key}", frame("worker", summary)) for key, summary in news.workers.items()),
            *((f"worker {key}", frame("worker_gone", {"id": key})) for key in news.workers_gone),
        ],
        depth=[("depth", frame("depth", news.depth))] if news.depth is not None else [],
        many=[("many", frame("many", {}))] if news.left_out or news.crowded else [],
    )


def frames_for(wanted: Wanted, news: News, shared: Shared) -> list[Frame]:
    if wanted.topic == Topic.WORKERS:
        return shared.workers
    if not wanted.ids and not wanted.queues:
        return [*shared.jobs.values(), *(shared.gone[job_id] for job_id in news.gone), *shared.depth, *shared.many]
    return [
        *(shared.jobs[key] for key, summary in news.jobs.items() if wanted.takes(key, summary["queue"])),
        *(shared.gone[key] for key, queues in left_behind(news) if is_lost(wanted, key, queues, news)),
        *(shared.depth if wanted.wants_depth else []),
        *(shared.many if news.left_out or (wanted.queues & news.crowded and not wanted.ids) else []),
    ]


def left_behind(news: News) -> list[tuple[int, set[str]]]:
    return [*news.gone.items(), *news.left.items()]


def is_lost(wanted: Wanted, job_id: int, queues: set[str], news: News) -> bool:
    """Whether the reader may know the job, and has it no longer."""
    now: Any = news.jobs.get(job_id)
    if now and wanted.takes(job_id, now["queue"]):
        return False
    return wanted.lost(job_id, queues) if wanted.queues else job_id in wanted.ids
