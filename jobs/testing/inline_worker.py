"""A worker of one slot in the thread of the test. It claims, runs, reports and finishes by the worker's own code."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from uuid import uuid4

from django.db import connection

from jobs.handlers.base import Answer, ClaimedJob, Outcome
from jobs.handlers.folders import ends_workdir
from jobs.models import JobEvent
from jobs.states import EventName
from jobs.testing.attempt import Desk, InlineAttempt, InlineContext
from jobs.testing.home_thread import HomeThread, run_awaitable_at_home
from jobs.testing.transactions import around_handler, commits_heard
from jobs.worker.clerk import Clerk
from jobs.worker.database_client import DatabaseClient
from jobs.worker.endings import DECIDED
from jobs.worker.execution import run_attempt, stopped
from jobs.worker.housekeeping import folders_of_this_process
from jobs.worker.ledger import Ledger
from jobs.worker.queue_client import ClaimOrder
from jobs.worker.reporting import AttemptReporter

NAME = "test"


@dataclass(frozen=True)
class Ran:
    """An attempt: its outcome (none where the claim was lost), what became of it, what the handler raised by itself."""

    outcome: Outcome | None
    answer: Answer | None
    raised: BaseException | None


class InlineWorker:
    def __init__(self, queues: Sequence[str] = ()) -> None:
        self.queues, self.home, self.folders = queues, HomeThread(), folders_of_this_process()
        self.client = DatabaseClient(NAME, queues, capabilities={"gpu": True})  # so that it may take every job
        self.clerk = Clerk(
            self.client,
            Ledger(),
            reaps_first=False,
            on_registered=ignore,
            on_found=ignore,
            on_finished=ignore,
            on_failure=ignore,
        )
        self.clerk.hurry()  # a database that does not answer ends the test instead of being waited for

    def __enter__(self) -> "InlineWorker":
        self.client.register()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.folders.remove_owner()
        if not connection.needs_rollback:  # else nothing can be written, and the error that did it is on its way
            self.client.sign_off()

    def claim(self) -> ClaimedJob | None:
        """The next job, as a worker with one free slot gets it."""
        found = self.clerk.claim(ClaimOrder(uuid4(), self.queues, 1))
        return found.jobs[0] if found.jobs else None

    def work(self, job: ClaimedJob) -> Ran:
        self.remove_workdir_of_another_test(job)
        with commits_heard():
            attempt = InlineAttempt(job, self.clerk, self.home)
            desk = Desk(attempt, self.clerk, self.home)
            lease_ends_at = partial(self.clerk.ledger.lease_ends_at, job)
            reporter = AttemptReporter(attempt, desk.say, desk.replies, lease_ends_at)
            context = InlineContext(
                job, reporter, attempt, self.folders, self.client.worker.name, awaiting=run_awaitable_at_home
            )
            with around_handler():
                outcome = run_attempt(attempt, context)
            desk.flush()
            context.remove_scratch()
            attempt.look()
            if attempt.reason in DECIDED:  # what a handler says after its time was up does not count
                outcome = stopped(job, attempt.reason)
            raised = context.take_raised()
            return Ran(outcome, self.settle(job, outcome), None if attempt.reason else raised)

    def settle(self, job: ClaimedJob, outcome: Outcome | None) -> Answer | None:
        if outcome is None:
            self.clerk.forget([job.claim])
            return None
        [answer] = self.clerk.hand_in([outcome])
        if answer.status in ends_workdir():
            self.folders.remove_workdir(job.id)
        return answer

    def remove_workdir_of_another_test(self, job: ClaimedJob) -> None:
        """Ids come again when a test is rolled back: what a job finds before its first claim is not its own."""
        if JobEvent.objects.filter(job_id=job.id, name=EventName.CLAIMED).count() == 1:
            self.folders.remove_workdir(job.id)


def ignore(*arguments: object) -> None:
    """What the clerk would tell its supervisor: here its answers are read where they are given."""
