"""The desk: what this worker has claimed, until the queue has heard how it ended."""

import logging
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from time import monotonic

from jobs.handlers.base import Answer, ClaimedJob, ClaimRef, Outcome, Report
from jobs.handlers.folders import ends_workdir
from jobs.logs import Event
from jobs.worker.child_handle import ChildHandle
from jobs.worker.clerk import Clerk
from jobs.worker.display import Display
from jobs.worker.housekeeping import Janitor
from jobs.worker.messages import Asked, Told, Word
from jobs.worker.options import WorkerTally

logger = logging.getLogger("jobs.worker")


class Desk:
    def __init__(self, clerk: Clerk, janitor: Janitor, display: Display) -> None:
        self.clerk, self.janitor, self.display = clerk, janitor, display
        self.unfinished: dict[ClaimRef, ClaimedJob] = {}
        self.handed_in: set[ClaimRef] = set()  # of those, whose outcome the clerk has
        self.tally = WorkerTally()

    def take(self, jobs: Iterable[ClaimedJob]) -> None:
        self.unfinished |= {job.claim: job for job in jobs}

    def show(self, jobs: Iterable[ClaimedJob]) -> None:
        for job in jobs:
            self.display.started(job)

    def pass_on(self, child: ChildHandle, words: Iterable[Word]) -> None:
        """What handlers say while they run."""
        for word in words:
            if isinstance(word, Told):
                if word.report.claim in child.assignments:  # else a thread has outlived its handler, and talks on
                    self.note_progress(child, word.report)
                    self.clerk.report(word.report)
            elif isinstance(word, Asked):
                if word.report:
                    self.note_progress(child, word.report)
                self.clerk.ask(word, partial(child.reply, word.number))

    def note_progress(self, child: ChildHandle, report: Report) -> None:
        self.display.reported(report)
        if assignment := child.assignments.get(report.claim):
            assignment.progressed_at = monotonic()

    def hand_in(self, outcomes: Collection[Outcome]) -> None:
        if outcomes:
            self.handed_in |= {outcome.claim for outcome in outcomes}
            self.clerk.finish(outcomes, self.unfinished)

    def drop(self, lost: Sequence[ClaimRef]) -> None:
        """Their claims are lost: nothing is said of them any more, and nothing of how they ended."""
        logger.warning(Event("claim lost, its outcome is dropped", job_ids=[claim.job_id for claim in lost]))
        self.clerk.forget(lost)

    def file(self, answers: Sequence[Answer]) -> None:
        """The queue has taken outcomes, or refused them for good."""
        for answer in answers:
            self.handed_in.discard(answer.claim)
            job = self.unfinished.pop(answer.claim, None)
            if job is None:
                continue
            if answer.refused:
                logger.warning(Event("outcome refused", job=job.id, kind=job.kind, reason=str(answer.refused)))
            self.tally.count(answer.status)
            self.display.finished(job, answer)
        over = ends_workdir()
        self.janitor.remove_workdirs([answer.claim.job_id for answer in answers if answer.status in over])

    def untold(self, given: Collection[ClaimRef]) -> list[ClaimRef]:
        """What nobody has been given, and of which nothing was said."""
        return [claim for claim in self.unfinished if claim not in given and claim not in self.handed_in]
