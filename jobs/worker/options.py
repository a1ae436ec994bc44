"""How a worker was asked to work, and what it did."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.worker.claiming import QueueShare


@dataclass(frozen=True)
class WorkerOptions:
    queues: Sequence[QueueShare] = ()
    processes: int = 1
    concurrency: int = 1
    until_empty: bool = False
    max_jobs: int | None = None
    max_minutes: float | None = None
    poll_interval: float | None = None
    reaps: bool = True

    @property
    def slots(self) -> int:
        return self.processes * self.concurrency


@dataclass
class WorkerTally:
    """What this worker did, for its last line."""

    jobs: int = 0
    completed: int = 0
    failed: int = 0
    other: int = 0

    def count(self, status: str | None) -> None:
        self.jobs += 1
        if status == "completed":
            self.completed += 1
        elif status == "failed":
            self.failed += 1
        else:
            self.other += 1
