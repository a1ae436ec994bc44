"""A worker in this process, for as long as it takes to do certain jobs."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Collection, Sequence
from types import TracebackType

from django.core.management.base import CommandError
from django.db import DatabaseError, connection

from jobs.handlers.base import Answer, ClaimedJob, Report
from jobs.lifecycle.prioritise import set_priority
from jobs.videos.selectors import active_jobs
from jobs.worker.child_handle import Assignment
from jobs.worker.claiming import QueueShare
from jobs.worker.display import Display, LogDisplay
from jobs.worker.live_display import LiveDisplay
from jobs.worker.options import WorkerOptions, WorkerTally
from jobs.worker.persistence import GivenUp
from jobs.worker.running import run_worker
from jobs.worker.shutdown import WorkerFailed

FIRST = 100  # the highest priority: whoever waits for these jobs does not wait for others
LOOK_EVERY = 1.0


def work_here(job_ids: Collection[int], queues: Sequence[str], *, moving: bool) -> bool:
    """Run a worker for as many attempts as there are jobs, these first; whether it got to make them all."""
    set_priority(job_ids, FIRST)
    shown: Display = LiveDisplay() if moving and sys.stderr.isatty() else LogDisplay()
    options = WorkerOptions(queues=[QueueShare(queue) for queue in queues], max_jobs=len(job_ids), ticks=False)
    try:
        _, tally = run_worker(f"transcode-{socket.gethostname()}-{os.getpid()}", options, UntilEnded(shown, job_ids))
        return tally.jobs >= len(job_ids)
    except (GivenUp, WorkerFailed) as error:
        raise CommandError(f"{error}") from error


class UntilEnded:
    """A display that stops its worker, as a person would, once none of the jobs waits or runs any more.

    A job may end without that worker: cancelled while it waits, or done by another that has come meanwhile.
    """

    def __init__(self, shown: Display, job_ids: Collection[int]) -> None:
        self.shown, self._job_ids = shown, job_ids
        self._stopped = threading.Event()
        self._watch = threading.Thread(target=self._look, name="jobs ended", daemon=True)

    def in_child(self) -> None:
        self.shown.in_child()

    def __enter__(self) -> "UntilEnded":
        self.shown.__enter__()
        self._watch.start()
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """The worker still heeds signals here: none is sent after this."""
        self._stopped.set()
        self._watch.join()
        self.shown.__exit__(kind, error, trace)

    def started(self, job: ClaimedJob) -> None:
        self.shown.started(job)

    def reported(self, report: Report) -> None:
        self.shown.reported(report)

    def finished(self, job: ClaimedJob, answer: Answer) -> None:
        self.shown.finished(job, answer)

    def refresh(self, assignments: Sequence[Assignment], tally: WorkerTally) -> None:
        self.shown.refresh(assignments, tally)

    def _look(self) -> None:
        try:
            while not self._stopped.wait(LOOK_EVERY):
                if self._have_ended():
                    os.kill(os.getpid(), signal.SIGTERM)
                    return
        finally:
            connection.close()

    def _have_ended(self) -> bool:
        try:
            return not active_jobs(self._job_ids)
        except DatabaseError:  # the worker itself gets over it, or gives up
            connection.close()
            return False
