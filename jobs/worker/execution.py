"""Runs one attempt and says how it ended; nothing is stored here."""

import asyncio
import functools
import inspect
from collections.abc import KeysView
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from jobs.conf import conf
from jobs.exceptions import ClaimError, Fatal, InvalidInput, RetryLater, StopRequested, WaitFor
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
    payload = attempt.job.payload
    assert kind.function is not None
    for function in [phase.function for phase in kind.phases] or [kind.function]:
        check_arguments(kind, function, context, payload)
    return context.call(kind.function, **payload)


signature_of = functools.cache(inspect.signature)


def check_arguments(kind: Kind, function: Any, context: Context, payload: dict[str, Any]) -> None:
    if (names := names_taken_by(function)) and names.fit(payload.keys()):
        return
    try:
        signature_of(function).bind(context, **payload)
    except TypeError as error:
        raise InvalidInput(f"The payload does not fit the handler of {kind.name!r}: {error}.") from None


@dataclass(frozen=True)
class Names:
    """The names a handler takes: to compare them is ten times as fast as to bind arguments."""

    first: str
    known: frozenset[str]
    required: frozenset[str]
    takes_any: bool

    def fit(self, given: KeysView[str]) -> bool:
        return given >= self.required and (self.first not in given if self.takes_any else given <= self.known)


@functools.cache
def names_taken_by(function: Any) -> Names | None:
    """None where names alone do not tell: the context is not a plain first argument."""
    parameters = list(signature_of(function).parameters.values())
    if not parameters or parameters[0].kind is not Parameter.POSITIONAL_OR_KEYWORD:
        return None
    first, *others = parameters
    named = [each for each in others if each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    return Names(
        first.name,
        frozenset(each.name for each in named),
        frozenset(each.name for each in named if each.default is Parameter.empty),
        any(each.kind is Parameter.VAR_KEYWORD for each in others),
    )
