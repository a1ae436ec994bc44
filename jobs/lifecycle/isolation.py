"""Isolation: how many of the jobs that must begin at once a claim may take, and what lies behind them."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.lifecycle.locked_job import LockedJob


@dataclass
class IsolatedRoom:
    """The isolated kinds, and how many jobs may still be taken that must not wait for a slot.

    Those are the isolated kinds, whatever crashed before, and what has one attempt left: if its worker were killed
    while it waits, it would be charged as begun, and fail for good without having run.
    """

    kinds: frozenset[str]
    left: float

    @classmethod
    def of(cls, kinds: Collection[str], limit: int | None) -> "IsolatedRoom":
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise InvalidInput(f"isolated_limit is {limit!r}, but it must be a whole number, zero or more, or None.")
        return cls(frozenset(kinds), math.inf if limit is None else limit)

    def must_begin(self, kind: str, crashes: int, attempts_left: int) -> bool:
        return kind in self.kinds or crashes > 0 or attempts_left <= 1

    def admits(self, job: LockedJob) -> bool:
        """Whether a job may be taken; one that must begin at once uses room up."""
        if not self.must_begin(job.kind, job.crashes, job.max_attempts - job.attempt):
            return True
        if not self.left:
            return False
        self.left -= 1
        return True

    def is_overfilled_by(self, head: Sequence[LockedJob]) -> bool:
        """Whether all of the head must begin at once, and one of them is too many; then the others use the room up."""
        overfilled = len(head) > self.left and all(
            self.must_begin(job.kind, job.crashes, job.max_attempts - job.attempt) for job in head
        )
        if overfilled:
            self.left = 0
        return overfilled

    def passed_by(self, front: Iterable[Sequence[Any]], taken: Sequence[LockedJob]) -> list[int]:
        """Of the jobs at the front (id, kind, crashes, attempts left), those that may wait; no other one is locked.

        So a worker without room wakes nobody up: two of them would wake each other without end.
        """
        known = {job.pk for job in taken}
        return [pk for pk, *facts in front if not self.must_begin(*facts) and pk not in known]
