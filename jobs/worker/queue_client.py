"""What a worker asks of the queue, whether the database is at hand or behind HTTP."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from jobs.handlers.base import Answer, Child, ClaimedJob, ClaimRef, Orders, Outcome, Report, Wish
from jobs.webhooks.message import Delivery, Sent
from jobs.wire.messages import ClaimOrder


class QueueUnavailable(Exception):
    """The queue cannot be reached right now; the same call may pass later, after `retry_in` seconds if it said so."""

    def __init__(self, reason: str, retry_in: float = 0.0) -> None:
        super().__init__(reason)
        self.retry_in = retry_in


class QueueRefuses(Exception):
    """The queue will have nothing to do with this worker, however often it asks: it must stop."""


@dataclass(frozen=True)
class Ticked:
    """How many periodic jobs were enqueued, and in how many seconds the next one is due (None: none will be)."""

    enqueued: int = 0
    next_in: float | None = None


class NoWakeUps(Exception):
    """Wake-ups do not get through here, and will not: the worker polls instead."""


class WakeUpsAway(Exception):
    """What carries wake-ups does not answer, which was told already; it may be tried again in `retry_in` seconds."""

    def __init__(self, reason: str, retry_in: float) -> None:
        super().__init__(reason)
        self.retry_in = retry_in


class JobBusy(QueueUnavailable):
    """Somebody keeps the row of a job locked. The queue itself answers: what is said of other jobs need not wait."""


class Listener(Protocol):
    """Hears that work arrived."""

    @property
    def shared(self) -> bool:
        """Whether what one worker hears is heard by no other."""
        ...

    @property
    def patience(self) -> float:
        """Seconds that a stopping worker waits until a `wait` has ended."""
        ...

    def wait(self, seconds: float, most: int = 1) -> Collection[str]:
        """The names of queues that got work within that time; where each is heard by one worker, `most` of them."""
        ...


class QueueClient(Protocol):
    """Every call may raise QueueUnavailable, and is safe to repeat when it did; or QueueRefuses, which is final.

    Connections are per thread."""

    @property
    def heartbeat_interval(self) -> float:
        """Seconds between two heartbeats, as the queue wants them."""
        ...

    @property
    def answers_several_at_once(self) -> bool:
        """Whether two calls at the same time are answered sooner than one after the other."""
        ...

    def register(self) -> str:
        """Become a new worker; returns its name."""
        ...

    def claim(self, order: ClaimOrder) -> list[ClaimedJob]: ...

    def next_due_in(self) -> float | None:
        """Seconds until the first scheduled job is due."""
        ...

    def heartbeat(
        self, claims: Collection[ClaimRef], metadata: Mapping[str, Any] | None = None, *, lists_all: bool = True
    ) -> Orders:
        """`metadata` is what people are shown of this worker. What it holds and does not list is given to others,
        unless it says that these may not be all."""
        ...

    def report(self, report: Report) -> None: ...

    def verify(self, claim: ClaimRef) -> None: ...

    def spawn(self, claim: ClaimRef, wish: Wish) -> tuple[Child, ...]:
        """Make jobs for a running one, unless it has made them before; returns all that it made."""
        ...

    def finish(self, outcomes: Sequence[Outcome]) -> list[Answer]: ...

    def reap(self) -> None:
        """Look after crashed workers now."""
        ...

    def reap_in_turn(self) -> None:
        """The same, if no other worker has just done it."""
        ...

    def wants_alerts(self) -> bool:
        """Whether anybody is to be told of what goes wrong. Asks no one."""
        ...

    def send_alerts_in_turn(self) -> None:
        """Look what people should be told, if no other worker has just done it, and tell them."""
        ...

    def prune_in_turn(self, go_on: Callable[[], bool]) -> None:
        """Delete what is old, if it is our turn, while `go_on` says so."""
        ...

    def tick(self, sync: bool = False) -> Ticked:
        """Enqueue the periodic jobs that are due. `sync`: first tell what the code declares."""
        ...

    def listening(self) -> AbstractContextManager[Listener] | None:
        """None where there are no wake-ups: then the worker polls."""
        ...

    def needing_workdir(self, job_ids: Collection[int]) -> set[int]:
        """Which of these jobs may still need their directories: those of the others can go."""
        ...

    def next_delivery_in(self) -> float | None:
        """Seconds until there is something to do for webhooks; None: nothing waits."""
        ...

    def take_deliveries(self, limit: int, room: Callable[[str], int]) -> Sequence[Delivery]: ...

    def record_deliveries(self, sent: Sequence[Sent]) -> None: ...

    def sign_off(self, metadata: Mapping[str, Any] | None = None) -> None:
        """Say that this worker exits, and what people are shown of it."""
        ...

    def rest(self) -> None:
        """Called now and then: give up connections that have gone bad or are too old."""
        ...

    def hang_up(self) -> None:
        """Called when a thread ends: nobody else can close what it had open."""
        ...
