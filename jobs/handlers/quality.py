"""One rendition of a job's output, reported on its own."""

from collections.abc import Callable
from typing import Any

from jobs.conf import conf
from jobs.handlers.base import QualityReport, describe_error
from jobs.sanitise import clean_text, measured_json
from jobs.states import QualityStatus

LONGEST_NAME = 50


class Quality:
    """`ctx.quality("720p")`: start, then segments or progress, then complete, fail or skip."""

    def __init__(self, name: str, report: Callable[[QualityReport], None]) -> None:
        self.name, self._report = clean_text(name, LONGEST_NAME), report

    def start(self, segments: int | None = None) -> None:
        self._send(
            status=QualityStatus.IN_PROGRESS, segments_total=segments, segments_completed=0, progress=0, error=""
        )

    def segments(self, completed: int, total: int | None = None) -> None:
        percent = whole_percent(100 * completed / total) if total else None
        self._send(segments_completed=completed, segments_total=total, progress=percent)

    def progress(self, percent: float, /, segments: int | None = None, **details: Any) -> None:
        """How far it is, how many segments are done, and what else people want to know: fps, speed, eta."""
        told = as_json(details) or None
        self._send(progress=whole_percent(percent), segments_completed=segments, details=told)

    def complete(self, /, **details: Any) -> None:
        self._send(status=QualityStatus.COMPLETED, progress=100, details=as_json(details) or None)

    def fail(self, error: str | BaseException) -> None:
        self._send(status=QualityStatus.FAILED, error=describe_error(error)[0])

    def skip(self, reason: str = "") -> None:
        self._send(status=QualityStatus.SKIPPED, error=clean_text(reason, conf.MAX_ERROR))

    def _send(self, **what: Any) -> None:
        self._report(QualityReport(self.name, **what))


def whole_percent(percent: float) -> int:
    """Between 0 and 100 whatever the handler computed: an estimate that overshoots must not fail the job."""
    return 0 if percent != percent else int(max(0.0, min(100.0, percent)))


def as_json(value: Any) -> Any:
    """What a later attempt reads of it: plain JSON, tuples as lists and keys as text.

    Made before it is sent, so that the supervisor never gets an object of a class that only the handler knows. What is
    too large stays too large, for whoever stores it to refuse.
    """
    return measured_json(value, conf.MAX_RESULT)[0]
