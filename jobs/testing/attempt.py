"""One attempt that is run by a test: the worker's own parts, put together without its processes."""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any

from jobs.handlers.base import ClaimedJob, Report
from jobs.handlers.context import Context
from jobs.models import Job
from jobs.testing.home_thread import HomeThread
from jobs.worker.attempt import Attempt
from jobs.worker.clerk import Clerk
from jobs.worker.leases import lease_clock
from jobs.worker.messages import Asked, Ended, Reason, Reply, Told, Word
from jobs.worker.reporting import Digest, News, Replies
from jobs.worker.watch import why_to_stop


class InlineAttempt(Attempt):
    """Looks for orders whenever the handler asks: nobody else is there to bring them."""

    def __init__(self, job: ClaimedJob, clerk: Clerk, home: HomeThread) -> None:
        super().__init__(job)
        self.clerk, self.home = clerk, home
        self.progressed_at = 0.0

    @property
    def asked(self) -> bool:
        self.home.call(self.look)
        return super().asked

    @property
    def cancelled(self) -> bool:
        return self.asked and super().cancelled

    @property
    def began_at(self) -> float:
        return self.began

    @property
    def stop_reason(self) -> Reason | None:
        return self.reason

    def look(self) -> None:
        """As a heartbeat and the supervisor's watch would, right now."""
        job = self.job
        undisturbed = Job.objects.held_by([job.id], [job.claim.claim_id]).filter(cancel_requested_at=None)
        half_over = lease_clock() > self.clerk.ledger.lease_ends_at(job) - job.lease.total_seconds() / 2
        if half_over or not undisturbed.exists():
            self.beat()
        if reason := why_to_stop(self, self.clerk.ledger, monotonic()):
            self.stop(reason)

    def beat(self) -> None:
        began, claim = lease_clock(), self.job.claim
        orders = self.clerk.client.heartbeat([claim])
        if claim in orders.lost:
            return self.stop(Reason.LOST)
        self.clerk.ledger.renewed([claim], began)
        if claim in orders.cancel:
            self.stop(Reason.CANCELLED)
        if orders.disabled:
            self.stop(Reason.DISABLED)
        return None

    def stop(self, reason: Reason) -> None:
        if reason == Reason.LOST or self.reason in (None, Reason.CANCELLED):
            self.reason = reason


class Desk:
    """Where the attempt's words arrive. What nobody waits for is merged, and stored with what cannot wait."""

    def __init__(self, attempt: InlineAttempt, clerk: Clerk, home: HomeThread) -> None:
        self.attempt, self.clerk, self.home = attempt, clerk, home
        self.replies, self._news = Replies(), News()
        self._kept: Digest | None = None
        self._lock = threading.Lock()

    def say(self, word: Word) -> None:
        assert not isinstance(word, Ended)
        if word_report := word.report:
            self.attempt.progressed_at = monotonic()
            if isinstance(word, Told) and not self.is_urgent(word_report):
                return
        if isinstance(word, Asked):
            self.home.call(self.answer, word)
        else:
            self.home.call(self.flush)

    def is_urgent(self, report: Report) -> bool:
        with self._lock:
            self._kept = self._kept or Digest()
            self._kept.add(report)
            return self._news.is_in(report)

    def answer(self, asked: Asked) -> None:
        self.flush()
        self.replies.arrived(Reply(asked.number, self.clerk.answer(asked)))

    def flush(self) -> None:
        with self._lock:
            kept, self._kept = self._kept, None
        if kept:
            self.clerk.deliver(kept.report())


class InlineContext(Context):
    """Remembers what the handler raised, for the test to raise it, too."""

    _raised: BaseException | None = None

    def call(self, function: Callable[..., Any], /, **payload: Any) -> Any:
        try:
            return super().call(function, **payload)
        except BaseException as error:
            self._raised = error
            raise

    def take_raised(self) -> BaseException | None:
        """Kept no longer: its traceback refers to us, and would keep all that the handler had at hand."""
        raised, self._raised = self._raised, None
        return raised
