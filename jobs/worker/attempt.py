"""One attempt as the child that runs it sees it: the claimed job, and the orders that reached it."""

from dataclasses import dataclass, field
from time import monotonic

from jobs.handlers.base import ClaimedJob
from jobs.worker.messages import Reason


class Interrupted(BaseException):
    """The attempt must end now, whatever the handler is doing. Not an Exception: `except Exception` must not eat it."""


@dataclass(eq=False, slots=True)
class Attempt:
    """Its flags are set by the thread that reads orders, and read by the handler's."""

    job: ClaimedJob
    place: int = 0
    reason: Reason | None = None
    began: float = field(default_factory=monotonic)  # when its slot took it: it may have waited for others before
    ended: bool = False

    @property
    def asked(self) -> bool:
        return self.reason is not None

    @property
    def cancelled(self) -> bool:
        return self.reason == Reason.CANCELLED

    @property
    def lost(self) -> bool:
        return self.reason == Reason.LOST

    @property
    def shutting_down(self) -> bool:
        """Anything else that ends the attempt: the handler need not know why."""
        return self.reason not in (None, Reason.CANCELLED, Reason.LOST)

    @property
    def seconds(self) -> float:
        return monotonic() - self.began
