"""Reports on their way from handlers to the queue: often made, seldom sent, and never past a lost claim."""

import itertools
import pickle
from collections.abc import Callable
from dataclasses import replace
from queue import Empty, SimpleQueue
from typing import Any

from jobs.exceptions import ClaimError, ClaimLost, InvalidInput
from jobs.handlers.base import UNSET, Child, PhaseReport, QualityReport, Report, Wish
from jobs.worker.attempt import Attempt
from jobs.worker.leases import lease_clock
from jobs.worker.messages import Asked, Granted, Reason, Reply, Told, Word

DOUBT = 5.0  # seconds


class AttemptReporter:
    """The reporter of one attempt. A number that moved is told; what a handler relies on is asked to be stored."""

    def __init__(
        self, attempt: Attempt, say: Callable[[Word], None], replies: "Replies", lease_ends_at: Callable[[], float]
    ) -> None:
        self.attempt, self.say, self.replies, self.lease_ends_at = attempt, say, replies, lease_ends_at
        self._phases = News()
        self._doubted: float | None = None  # the end of the lease that was asked about

    def report(self, report: Report) -> None:
        self._refuse_if_over()
        check_picklable(report)
        if self._is_promise(report):
            self._ask(report)
        else:
            self._doubt()
            self.say(Told(report))

    def guard(self) -> None:
        self._refuse_if_over()
        self._ask(None)

    def ask(self, wish: Wish) -> tuple[Child, ...]:
        """What the job has spawned, once the queue has it."""
        self._refuse_if_over()
        check_picklable(wish)
        said = self._ask(None, wish=wish)
        assert isinstance(said, Granted)
        return said.children

    def _is_promise(self, report: Report) -> bool:
        """A checkpoint and what becomes of a phase are stored when the call returns: a handler builds on them."""
        return report.checkpoint is not UNSET or self._phases.is_in(replace(report, qualities=()))

    def _doubt(self) -> None:
        """Whoever was frozen for longer than the lease asks before it goes on; if the queue is away, it does go on."""
        ends_at = self.lease_ends_at()
        if lease_clock() >= ends_at and ends_at != self._doubted:
            self._doubted = ends_at
            self._ask(None, patience=DOUBT)

    def _ask(self, report: Report | None, patience: float | None = None, wish: Wish | None = None) -> Granted | None:
        number, reply = self.replies.expect()
        self.say(Asked(number, self.attempt.job.claim, report, wish))
        try:
            said = reply.get(timeout=patience).said
        except Empty:
            return None
        if isinstance(said, ClaimError):
            self.attempt.reason = Reason.LOST
        if isinstance(said, Exception):
            raise said
        return said

    def _refuse_if_over(self) -> None:
        """The claim is lost; or the attempt has ended, and its claim with it: a thread may outlive its handler."""
        if self.attempt.lost or self.attempt.ended:
            raise ClaimLost(job_id=self.attempt.job.id)


class Replies:
    """Who waits for which reply. Its queues may be waited for and filled from signal handlers and threads alike."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._waiting: dict[int, SimpleQueue[Reply]] = {}

    def expect(self) -> tuple[int, "SimpleQueue[Reply]"]:
        number, reply = next(self._numbers), SimpleQueue[Reply]()
        self._waiting[number] = reply
        return number, reply

    def arrived(self, reply: Reply) -> None:
        self._waiting.pop(reply.number).put(reply)


def check_picklable(report: Report | Wish) -> None:
    """What a handler made up may not travel; better told to it than to the process that carries it."""
    if (
        isinstance(report, Wish)
        or report.checkpoint is not UNSET
        or report.phases
        or any(quality.details for quality in report.qualities)
    ):
        try:
            pickle.dumps(report)
        except Exception as error:  # whatever a value's own methods raise
            raise InvalidInput(f"This cannot be stored as JSON: {error}.") from None


class News:
    """Tells whether a report says something that cannot wait: a phase or quality that changed its status."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str], str] = {}

    def is_in(self, report: Report) -> bool:
        statuses = {("phase", phase.name): str(phase.status) for phase in report.phases}
        statuses |= {("quality", each.name): str(each.status) for each in report.qualities if each.status}
        news = any(self._told.get(name) != status for name, status in statuses.items())
        self._told |= statuses
        return news


class Digest:
    """What several reports of one attempt say together; where they differ, the newer one is right.

    To add one costs as much as it holds, however much is known already: a film may have hundreds of qualities.
    """

    def __init__(self) -> None:
        self._newest: Report | None = None
        self._only_one = True
        self._said: dict[str, Any] = {}
        self._phases: dict[str, PhaseReport] = {}
        self._qualities: dict[str, QualityReport] = {}

    def add(self, report: Report) -> None:
        self._only_one = self._newest is None
        self._newest = report
        said = {"progress": report.progress, "step": report.step}
        self._said |= {name: value for name, value in said.items() if value is not None}
        if report.checkpoint is not UNSET:
            self._said["checkpoint"] = report.checkpoint
        self._phases |= {phase.name: phase for phase in report.phases}
        for quality in report.qualities:
            known = self._qualities.get(quality.name)
            self._qualities[quality.name] = added(known, quality) if known else quality

    def report(self) -> Report:
        assert self._newest is not None, "add() comes first"
        if self._only_one:
            return self._newest
        phases, qualities = list(self._phases.values()), list(self._qualities.values())
        return Report(self._newest.claim, phases=phases, qualities=qualities, **self._said)


def added(known: QualityReport, report: QualityReport) -> QualityReport:
    said = {name: value for name, value in vars(report).items() if value is not None}
    if known.details and report.details:
        said["details"] = {**known.details, **report.details}
    return replace(known, **said)
