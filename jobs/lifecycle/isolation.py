"""Isolation: how many of the jobs that must begin at once a claim may take, and what lies behind them."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.lifecycle.locked_job import LockedJob

HEAVY_WAIT = 60.0  # seconds


@dataclass
class IsolatedRoom:
    """The isolated kinds, and how many jobs may still be taken that must not wait for a slot.

    Those are the isolated kinds, whatever crashed before, and what has one attempt left: if its worker were killed
    while it waits, it would be charged as begun, and fail for good without having run.
    """

    kinds: Mapping[str, int]  # with the slots that one of each takes
    left: float
    is_reserved: bool = False  # nothing more is taken, so that slots come free for a job that takes several

    @classmethod
    def of(cls, kinds: Collection[str], limit: int | None) -> "IsolatedRoom":
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise InvalidInput(f"isolated_limit is {limit!r}, but it must be a whole number, zero or more, or None.")
        weights = kinds if isinstance(kinds, Mapping) else dict.fromkeys(kinds, 1)
        return cls(weights, math.inf if limit is None else limit)

    def must_begin(self, kind: str, crashes: int, attempts_left: int) -> bool:
        return kind in self.kinds or crashes > 0 or attempts_left <= 1

    def weight(self, kind: str, crashes: int, attempts_left: int) -> int:
        """The room that a job uses up: only those that must begin at once use any."""
        return self.kinds.get(kind, 1) if self.must_begin(kind, crashes, attempts_left) else 0

    def is_overfilled_by(self, head: Sequence[LockedJob]) -> bool:
        """Whether all of the head must begin at once, and one of them at least is too many."""
        return len(head) > self.left and all(map(self.weight_of, head))

    def weight_of(self, job: LockedJob) -> int:
        return self.weight(job.kind, job.crashes, job.max_attempts - job.attempt)

    def reserve_for(self, job: LockedJob) -> None:
        self.is_reserved |= self.is_due_a_place(job.kind, job.age)

    def is_due_a_place(self, kind: str, age: float) -> bool:
        """Whether a job of several slots has waited so long that smaller ones must not take them one by one."""
        return self.kinds.get(kind, 1) > 1 and age > HEAVY_WAIT

    def is_clear(self, head: Sequence[Sequence[Any]]) -> bool:
        """Whether there is no room, something that needs none near the front, and nobody there for whom to keep it."""
        if self.left >= 1:
            return False
        light = [not self.weight(*facts) for _, _, *facts in head]
        return any(light) and not any(self.is_due_a_place(kind, age) for _, age, kind, *_ in head)

    def passed_by(self, front: Iterable[Sequence[Any]], known: Collection[int]) -> list[int]:
        """Of the jobs at the front (id, age, kind, crashes, attempts left), those that there is room for.

        No other one is locked: so a worker without room wakes nobody up, where two would wake each other without end.
        """
        fitting = []
        for pk, age, *facts in front:
            if self.weight(*facts) <= self.left:
                fitting.append(pk)
            elif self.is_due_a_place(facts[0], age):
                self.is_reserved = True
                break
        return [pk for pk in fitting if pk not in known]
