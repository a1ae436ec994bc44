"""How a worker was asked to work, and what it did."""

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.conf import conf
from jobs.windows import Window
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
    max_size: int | None = None  # bytes of a job's source
    window: Window | None = None  # the hours in which it looks for work
    reaps: bool = True
    ticks: bool = True  # starts periodic jobs
    has_database: bool = True  # and does what any worker could for all: a remote one leaves that to the server's side

    @property
    def queue_names(self) -> list[str]:
        return [share.name for share in self.queues]

    @property
    def is_reaper(self) -> bool:
        return self.reaps and conf.REAP_INTERVAL > 0

    @property
    def is_pruner(self) -> bool:
        """Who does not look after others does not tidy up after them, either."""
        return self.has_database and self.reaps and conf.PRUNE_INTERVAL > 0

    @property
    def is_timekeeper(self) -> bool:
        return self.has_database and self.ticks and conf.PERIODIC_INTERVAL > 0

    @property
    def delivers(self) -> bool:
        return self.has_database and conf.WEBHOOK_CONCURRENCY > 0

    @property
    def slots(self) -> int:
        return self.processes * self.concurrency


@dataclass
class WorkerTally:
    """What this worker did: for its last line, and for whoever looks at it."""

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
