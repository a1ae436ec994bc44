"""A reporter that remembers what a handler said, and a claimed job to say it about."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import uuid4

from jobs.handlers.base import Child, ClaimedJob, ClaimRef, Report, Wish


@dataclass
class Remembering:
    """Takes reports as a worker's client does; it and `guard` raise what they are told to."""

    reports: list[Report] = field(default_factory=list)
    guards: int = 0
    refusal: Exception | None = None
    report_error: Exception | None = None
    too_large: Exception | None = None

    def report(self, report: Report) -> None:
        if self.report_error:
            raise self.report_error
        if self.too_large and any(phase.result is not None for phase in report.phases):
            raise self.too_large
        self.reports.append(report)

    def ask(self, wish: Wish) -> tuple[Child, ...]:
        raise AssertionError("nothing is spawned here")

    def guard(self) -> None:
        self.guards += 1
        if self.refusal:
            raise self.refusal

    @property
    def progress(self) -> list[int]:
        return [report.progress for report in self.reports if report.progress is not None]

    @property
    def phases(self) -> list[tuple[str, str, int]]:
        return [(each.name, str(each.status), each.progress) for report in self.reports for each in report.phases]


@dataclass
class Flags:
    cancelled: bool = False
    shutting_down: bool = False
    lost: bool = False

    @property
    def asked(self) -> bool:
        return self.cancelled or self.shutting_down or self.lost


def a_claimed_job(**options: Any) -> ClaimedJob:
    told: dict[str, Any] = {"kind": "test.noop", "queue": "default", "payload": {}, "subject": "", "attempt": 1}
    told |= {"max_attempts": 3, "crashes": 0, "lease": timedelta(seconds=120), "max_runtime": None}
    return ClaimedJob(claim=ClaimRef(7, uuid4()), **(told | options))
