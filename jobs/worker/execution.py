"""Runs one attempt and says how it ended; nothing is stored here."""

import asyncio
from typing import Any

from jobs.conf import conf
from jobs.exceptions import ClaimError, Fatal, RetryLater, StopRequested, WaitFor
from jobs.handlers.arguments import check_arguments
from jobs.handlers.base import ClaimedJob, Outcome
from jobs.handlers.context import Context
from jobs.handlers.registry import Kind, registry
from jobs.sanitise import clean_json
from jobs.worker.attempt import Attempt, Interrupted
from jobs.worker.messages import RELEASED_BECAUSE, Reason


def run_attempt(attempt: Attempt, context: Context) -> Outcome | None:
    """Run the handler; the outcome is None where the claim was lost, for then nothing may be said any more."""
    claim = attempt.job.claim
    kind: Kind | None = None
    try:
        context.raise_if_cancelled()  # before it began: a job that was fetched ahead need not start
        kind = registry.get(attempt.job.kind)
        result = call(kind, attempt, context)
        if isinstance(result, WaitFor):
            return Outcome.waiting(claim, result.waits_for)
        return Outcome.completed(claim, None if result is None else clean_json(result, conf.MAX_RESULT))
    except (ClaimError, StopRequested, Interrupted, asyncio.CancelledError) as error:
        return outcome_of_stop(attempt, error)
    except WaitFor as wait:
        return Outcome.waiting(claim, wait.waits_for)
    except RetryLater as later:
        return Outcome.failed(claim, later, retry_after=later.seconds, count=later.count)
    except BaseException as error:  # sys.exit() in a handler ends the attempt, not the worker
        fatal = isinstance(error, Fatal) or bool(kind and kind.is_fatal(error))
        return Outcome.failed(claim, error, fatal=fatal)


def outcome_of_stop(attempt: Attempt, error: BaseException) -> Outcome | None:
    """What an attempt that was ended from outside means. One that raises such an error by itself has failed."""
    if attempt.reason is None:
        return Outcome.failed(attempt.job.claim, error)
    return stopped(attempt.job, attempt.reason)


def stopped(job: ClaimedJob, reason: Reason) -> Outcome | None:
    """The outcome of an attempt that was ended, by its own child or together with it."""
    if reason == Reason.LOST:
        return None
    if reason == Reason.CANCELLED:
        return Outcome.cancelled(job.claim)
    if reason == Reason.TIMEOUT:
        assert job.max_runtime is not None
        return Outcome.failed(job.claim, f"Timeout after {job.max_runtime.total_seconds():g} s")
    if reason == Reason.STALLED:
        kind = registry.find(job.kind)
        return Outcome.failed(job.claim, f"No progress for {kind and kind.stall_timeout:g} s")
    return Outcome.released(job.claim, RELEASED_BECAUSE.get(reason, "its worker stopped it"))


def call(kind: Kind, attempt: Attempt, context: Context) -> Any:
    check_arguments(kind, attempt.job.payload)
    assert kind.function is not None
    return context.call(kind.function, **attempt.job.payload)
