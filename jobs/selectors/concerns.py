"""What needs attention: rules over a snapshot of the queue. Pure, so that pages and alerts judge alike."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jobs.conf import conf
from jobs.readable import human_duration
from jobs.selectors.depth import Depth
from jobs.selectors.throughput import Activity
from jobs.states import EventName, ShownState

SIGNED_OFF = "signed off"  # what the event of a worker says that left in good order
FEW = 10  # jobs: of fewer than these that ended, a share says nothing
EXAMPLES = 3


@dataclass(frozen=True)
class Disk:
    """Where files go, and how much of it is free."""

    place: str
    free: int  # bytes
    total: int

    @property
    def share(self) -> float:
        return self.free / self.total if self.total else 0.0

    @property
    def is_low(self) -> bool:
        return self.share < conf.ALERT_DISK_FREE


@dataclass(frozen=True)
class Snapshot:
    """What the rules look at."""

    queues: Mapping[str, Depth] = field(default_factory=dict)
    paused: frozenset[str] = frozenset()
    last_hour: Mapping[str, Activity] = field(default_factory=dict)
    claimed_lately: Mapping[str, int] = field(default_factory=dict)  # per queue, since JOBS_ALERT_NO_CLAIMS
    states: Mapping[str, int] = field(default_factory=dict)  # of running jobs
    lost_workers: tuple[str, ...] = ()
    live_workers: int = 0
    disks: tuple[Disk, ...] = ()  # of the machine that looks
    longest_transaction: float = 0.0  # seconds


@dataclass(frozen=True)
class Concern:
    """Something that a person should know, and what helps."""

    name: str
    text: str
    advice: str
    queue: str = ""
    place: str = ""  # the disk that it is about
    state: str = ""  # the jobs that it is about
    workers: bool = False  # it is about workers
    grave: bool = False

    @property
    def key(self) -> str:
        """What tells it from others of its name."""
        return self.queue or self.place


def concerns(seen: Snapshot) -> list[Concern]:
    """The grave ones first."""
    found = [*unclaimed(seen), *lost_workers(seen), *running(seen), *error_rates(seen), *deep(seen), *failed(seen)]
    found += [*low_disks(seen), *long_transactions(seen)]
    return sorted(found, key=lambda concern: not concern.grave)


def unclaimed(seen: Snapshot) -> Iterator[Concern]:
    for queue, depth in seen.queues.items():
        waited = depth.oldest_pending_seconds or 0
        if queue in seen.paused or waited < conf.ALERT_NO_CLAIMS or seen.claimed_lately.get(queue):
            continue
        if seen.live_workers:
            advice = "See whether a worker serves this queue and has a free slot."
        else:
            advice = "No worker is running: start one with `manage.py runworker`."
        yield Concern(
            "no_claims",
            f"Nobody has claimed from {queue} for {human_duration(conf.ALERT_NO_CLAIMS)}, and {jobs(depth.pending)} "
            f"{'waits' if depth.pending == 1 else 'wait'}, the oldest for {human_duration(waited)}.",
            advice,
            queue=queue,
            workers=True,
            grave=True,
        )


def lost_workers(seen: Snapshot) -> Iterator[Concern]:
    if number := len(seen.lost_workers):
        named = ", ".join(seen.lost_workers[:EXAMPLES]) + (" …" if number > EXAMPLES else "")
        yield Concern(
            "worker_offline",
            f"{number:,} worker{'s' * (number > 1)} went offline without signing off: {named}.",
            "The jobs were handed on. Look at the machine, and start a worker there again.",
            workers=True,
            grave=True,
        )


def running(seen: Snapshot) -> Iterator[Concern]:
    if number := seen.states.get(ShownState.STALLED, 0):
        yield Concern(
            "job_stalled",
            f"{jobs(number)} reported no progress for {human_duration(conf.STALL_AFTER)}.",
            "Look at the log of the worker; cancel and retry what hangs.",
            state=ShownState.STALLED,
        )
    if number := seen.states.get(ShownState.EXPIRED, 0):
        yield Concern(
            "job_expired",
            f"The lease of {jobs(number)} is over: {'its worker is' if number == 1 else 'their workers are'} silent.",
            "The reaper hands such jobs on once their worker counts as offline; `manage.py reap_stale` looks at once.",
            state=ShownState.EXPIRED,
        )


def error_rates(seen: Snapshot) -> Iterator[Concern]:
    for queue, lately in seen.last_hour.items():
        rate = lately.failure_rate
        if rate is not None and rate > conf.ALERT_ERROR_RATE and lately.ended >= FEW:
            yield Concern(
                "error_rate_high",
                f"{rate:.0%} of the jobs of {queue} that ended in the last hour failed "
                f"({lately.events[EventName.FAILED]:,} of {lately.ended:,}).",
                "Read the errors; pause the queue while you repair what they have in common.",
                queue=queue,
                state=ShownState.FAILED,
                grave=True,
            )


def deep(seen: Snapshot) -> Iterator[Concern]:
    for queue, depth in seen.queues.items():
        if depth.pending > conf.ALERT_DEPTH:
            yield Concern(
                "queue_depth_high",
                f"{depth.pending:,} jobs wait in {queue}, more than {conf.ALERT_DEPTH:,}.",
                "Add workers, or find out who enqueues so much.",
                queue=queue,
                state=ShownState.UNCLAIMED,
            )


def failed(seen: Snapshot) -> Iterator[Concern]:
    for queue, depth in seen.queues.items():
        if depth.failed:
            yield Concern(
                "job_failed",
                f"{jobs(depth.failed)} of {queue} failed.",
                "Read the errors, then retry or clear.",
                queue=queue,
                state=ShownState.FAILED,
            )


def low_disks(seen: Snapshot) -> Iterator[Concern]:
    for disk in seen.disks:
        if disk.is_low:
            yield Concern(
                "disk_low",
                f"Only {disk.share:.1%} is free ({disk.free / 2**30:,.1f} GB) for {disk.place}.",
                "Make room: `manage.py prune_jobs`, `manage.py collect_videos`, or a larger disk.",
                place=disk.place,
                grave=True,
            )


def long_transactions(seen: Snapshot) -> Iterator[Concern]:
    if 0 < conf.ALERT_LONG_TRANSACTION < seen.longest_transaction:
        yield Concern(
            "long_transaction",
            f"A transaction of the database has been open for {human_duration(seen.longest_transaction)}: until it "
            "ends, no dead row can be removed, and every claim gets slower.",
            "See `SELECT pid, usename, state, xact_start, query FROM pg_stat_activity ORDER BY xact_start`; end what "
            "was forgotten with `SELECT pg_terminate_backend(pid)`.",
            grave=True,
        )


def went_missing(reason: str) -> bool:
    """Whether a worker that is offline, for this reason, did not leave in good order."""
    return reason != SIGNED_OFF


def jobs(number: int) -> str:
    return "1 job" if number == 1 else f"{number:,} jobs"
