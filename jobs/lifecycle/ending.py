"""An ending: how a claim ends, as a value. `finish` and `reap` share it, so that a lost attempt has one rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F

from jobs.given import OwnJson
from jobs.lifecycle import transition
from jobs.lifecycle.locked_job import AnyJob
from jobs.lifecycle.retry_policy import Backoff, decide_after_crash
from jobs.lifecycle.sql.together import Writes
from jobs.states import EventName, Status

NO_RESULTS: Mapping[int, str] = {}


@dataclass(frozen=True)
class Ending:
    """What `transition.move` is told."""

    to: Status
    event: EventName
    reason: str = ""
    delay: float = 0
    result: str | None = None  # as JSON
    error: str | None = None
    traceback: str = ""
    error_class: str = ""
    charge: int = 0  # −1 gives the attempt back, 1 charges an execution whose start was never marked
    crashes: int = 0
    waits_for: int = 0

    def changes(self, *, with_results: bool) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        if self.to == Status.COMPLETED:
            changes |= {"result": OwnJson("results") if with_results else None, "progress": 100}
        if self.error is not None:
            changes |= {
                "last_error": self.error,
                "last_error_class": self.error_class,
                "last_traceback": self.traceback,
            }
        if self.charge:
            changes["attempt"] = F("attempt") + self.charge
        if self.crashes:
            changes["crashes"] = F("crashes") + self.crashes
        return changes

    def alike(self) -> "Ending":
        """All but the result: jobs that end alike are moved together."""
        return replace(self, result=None) if self.result else self

    def move(
        self,
        jobs: Sequence[AnyJob],
        outcome: str = "",
        results: Mapping[int, str] = NO_RESULTS,
        writes: Writes | None = None,
    ) -> None:
        transition.move(
            jobs,
            self.to,
            self.event,
            reason=self.reason,
            outcome=outcome,
            delay=self.delay,
            waits_for=self.waits_for or None,
            given={"results": results},
            writes=writes,
            **self.changes(with_results=bool(results)),
        )


COMPLETED = Ending(Status.COMPLETED, EventName.COMPLETED)  # as most jobs end


def charged_for_crash(job: AnyJob, reason: str, error: str) -> Ending:
    """The attempt was lost with the process that ran it: due again at once the first time, then after a wait."""
    decision = decide_after_crash(
        attempt=job.attempt,
        max_attempts=job.max_attempts,
        crashes=job.crashes,
        backoff=Backoff.stored(job.backoff, job.pk),
    )
    if not decision.retry:
        return Ending(Status.FAILED, EventName.FAILED, reason=error, error=error, crashes=1)
    return Ending(Status.PENDING, EventName.REAPED, reason=reason, delay=decision.delay, error=error, crashes=1)


def given_back(job: AnyJob, event: EventName, reason: str) -> Ending:
    """As if it had not been claimed: an attempt whose start was marked is not charged."""
    return Ending(Status.PENDING, event, reason=reason, charge=-1 if job.has_started else 0)
