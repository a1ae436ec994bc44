"""The error tree. A class's docstring is its message; what it is about comes as keywords."""

import inspect
from collections.abc import Iterable
from typing import Any


class JobyardError(Exception):
    """Something went wrong in the job queue."""

    def __init__(self, message: str = "", **about: object) -> None:
        template = message or inspect.cleandoc(type(self).__doc__ or "")
        super().__init__(template.format(**about) if about else template)
        self.about = about


class InvalidInput(JobyardError, ValueError):
    """The input is not acceptable."""


class TooMuchTold(InvalidInput):
    """The {name} of a worker take more than {limit} bytes as JSON: tell less."""


class UnknownKind(InvalidInput):
    """No handler is registered for the kind {kind!r}. {hint}"""


class NotFound(JobyardError, LookupError):
    """There is no such thing."""


class JobNotFound(NotFound):
    """There is no job {job_id}."""


class LimitNotFound(NotFound):
    """There is no limit of the {target} {name}."""


class PeriodicJobNotFound(NotFound):
    """There is no periodic job {name!r}."""


class PeriodicJobBusy(JobyardError):
    """The periodic job {name} has one job at a time, and job {job_id} has not ended."""


class PeriodicJobDeclared(JobyardError):
    """The periodic job {name} is declared in the code, which would bring it back: turn it off instead."""


class WorkerNotFound(NotFound):
    """There is no worker {worker_id}: it was deleted, or never registered."""


class WorkerNotGone(JobyardError):
    """Worker {name} is {status} or still has a running job: only one that is offline and holds nothing is removed."""


class ClaimError(JobyardError):
    """A write was refused because its claim does not hold."""

    code = "claim_error"


class ClaimExpired(ClaimError):
    """The claim on job {job_id} has expired, but nobody has taken the job: send a heartbeat, then repeat the call."""

    code = "claim_expired"


class ClaimLost(ClaimError):
    """The claim on job {job_id} is lost: stop working on it and publish nothing."""

    code = "claim_lost"


class JobLocked(JobyardError):
    """Somebody keeps the row of job {job_id} locked: repeat the call in a moment."""

    code = "job_locked"


class OutcomeNotWritten(JobyardError):
    """The outcome could not be written."""


class StopRequested(JobyardError):
    """The handler was asked to stop."""


class Cancelled(StopRequested):
    """Job {job_id} was cancelled."""


class ShuttingDown(StopRequested):
    """The worker is shutting down; job {job_id} goes back to its queue."""


class AttemptEnded(JobyardError):
    """The attempt was ended from outside: it ran too long, made no progress, or its process died."""


class Fatal(JobyardError):
    """Raised by a handler: this job cannot succeed, do not try it again."""


class RetryLater(JobyardError):
    """Raised by a handler: try this job again in some seconds; `count=False` keeps the attempt."""

    def __init__(self, seconds: float, message: str = "", *, count: bool = True) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 <= seconds < float("inf"):
            raise InvalidInput(f"RetryLater needs the seconds to wait, zero or more, not {seconds!r}.")
        super().__init__(message or f"The handler asked to be tried again in {seconds:g} s.")
        self.seconds = float(seconds)
        self.count = count


class WaitFor(JobyardError):
    """Raised or returned by a handler: give the slot up, and begin anew when jobs that it spawned have ended."""

    def __init__(self, children: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.waits_for = (
            None if children is None else tuple(child if isinstance(child, int) else child.id for child in children)
        )


class CommandFailed(JobyardError):
    """{program} failed: {how}.{last_words}"""

    @property
    def returncode(self) -> int | None:
        code = self.about.get("returncode")
        return code if isinstance(code, int) else None


class CommandNotFound(CommandFailed):
    """The program {program!r} could not be started: {why}."""


class CommandTimedOut(CommandFailed):
    """{program} was ended because it ran longer than its timeout of {seconds:g} s.{last_words}"""


class FolderRefused(JobyardError):
    """The work directory {path} cannot be used: {why}. Set JOBS_WORK_DIR to a directory of the worker's own user."""


class SendFailed(JobyardError):
    """The request failed: {why}."""


class SendRefused(SendFailed):
    """Nothing was sent: the URL {why}."""
