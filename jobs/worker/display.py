"""What a worker writes to its log: a line for each event. (On a terminal a table moves: `live_display.py`.)"""

import logging
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from jobs.handlers.base import Answer, ClaimedJob, Report
from jobs.states import Status
from jobs.worker.crew import Assignment
from jobs.worker.options import WorkerTally

logger = logging.getLogger("jobs.worker")


class Display(Protocol):
    def in_child(self) -> None:
        """Called in each child, before it runs anything: from here on it prints for us."""
        ...

    def __enter__(self) -> object: ...
    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None: ...
    def started(self, job: ClaimedJob) -> None: ...
    def reported(self, report: Report) -> None: ...
    def finished(self, job: ClaimedJob, answer: Answer) -> None: ...
    def refresh(self, assignments: Sequence[Assignment], tally: WorkerTally) -> None: ...


class LogDisplay:
    """For logs: nothing moves, every line stands alone."""

    def in_child(self) -> None:
        return None

    def __enter__(self) -> "LogDisplay":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    def started(self, job: ClaimedJob) -> None:
        logger.info("started job=%d kind=%s queue=%s attempt=%d", job.id, job.kind, job.queue, job.attempt)

    def reported(self, report: Report) -> None:
        logger.debug("progress job=%d percent=%s step=%r", report.claim.job_id, report.progress, report.step)

    def finished(self, job: ClaimedJob, answer: Answer) -> None:
        if not logger.isEnabledFor(level_of(answer)):
            return
        line = f"finished job={job.id} kind={job.kind} status={status_of(answer)}"
        if answer.reason:
            line += f" attempt={job.attempt} max_attempts={job.max_attempts} reason={answer.reason!r}"
        logger.log(level_of(answer), "%s", line)

    def refresh(self, assignments: Sequence[Assignment], tally: WorkerTally) -> None:
        return None


def level_of(answer: Answer) -> int:
    if answer.status == Status.FAILED:
        return logging.ERROR
    return logging.WARNING if answer.reason else logging.INFO


def status_of(answer: Answer) -> str:
    if answer.refused:
        return answer.refused.code
    return str(answer.status) if answer.status else "claim_lost"
