"""What a worker writes to its log: a line for each event. (On a terminal a table moves: `live_display.py`.)"""

import logging
import os
from collections import Counter
from collections.abc import Sequence
from types import TracebackType
from typing import Protocol

from jobs.handlers.base import Answer, ClaimedJob, Report
from jobs.logs import Event
from jobs.states import Status
from jobs.worker.child_handle import Assignment
from jobs.worker.options import WorkerTally

logger = logging.getLogger("jobs.worker")
STARTED, FINISHED = "started", "finished"
STANDARD_OUTPUT, STANDARD_ERROR = 1, 2
WENT_WELL: dict[str, dict[str, str]] = {STARTED: {}, FINISHED: {"status": str(Status.COMPLETED)}}
MOST_LINES = 50  # of jobs that go well, from one look round to the next: a line takes longer than a short job


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
    """For logs: nothing moves, every line stands alone. Of thousands a second that go well one line tells the rest."""

    def __init__(self) -> None:
        self.lines = 0
        self.untold: Counter[tuple[str, str]] = Counter()  # by what happened, and the kind

    def in_child(self) -> None:
        """What handlers print goes where the log goes: standard output is for the worker's answer."""
        os.dup2(STANDARD_ERROR, STANDARD_OUTPUT)

    def __enter__(self) -> "LogDisplay":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.tell_the_rest()

    def started(self, job: ClaimedJob) -> None:
        if logger.isEnabledFor(logging.INFO) and self.has_room(STARTED, job):
            logger.info(Event(STARTED, job=job.id, kind=job.kind, queue=job.queue, attempt=job.attempt))

    def reported(self, report: Report) -> None:
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(Event("progress", job=report.claim.job_id, percent=report.progress, step=report.step))

    def finished(self, job: ClaimedJob, answer: Answer) -> None:
        level = level_of(answer)
        if not logger.isEnabledFor(level):
            return
        if answer.status == Status.COMPLETED and not self.has_room(FINISHED, job):
            return
        event = Event(FINISHED, job=job.id, kind=job.kind, status=status_of(answer), **why(job, answer))
        logger.log(level, event)

    def refresh(self, assignments: Sequence[Assignment], tally: WorkerTally) -> None:
        self.tell_the_rest()

    def has_room(self, event: str, job: ClaimedJob) -> bool:
        """For a line of its own; if not, it is counted."""
        self.lines += 1
        if self.lines <= MOST_LINES:
            return True
        self.untold[event, job.kind] += 1
        return False

    def tell_the_rest(self) -> None:
        for (event, kind), jobs in self.untold.items():
            logger.info(Event(event, jobs=jobs, kind=kind, **WENT_WELL[event]))
        self.lines = 0
        self.untold.clear()


def why(job: ClaimedJob, answer: Answer) -> dict[str, object]:
    """What is said besides where an attempt did not end well."""
    if not answer.reason:
        return {}
    return {"attempt": job.attempt, "max_attempts": job.max_attempts, "reason": answer.reason}


def level_of(answer: Answer) -> int:
    if answer.status == Status.FAILED:
        return logging.ERROR
    return logging.WARNING if answer.reason else logging.INFO


def status_of(answer: Answer) -> str:
    if answer.refused:
        return answer.refused.code
    if answer.status:
        return str(answer.status)
    return "not_written" if answer.reason else "claim_lost"
