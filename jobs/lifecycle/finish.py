"""Finish: the outcome of a claim becomes the state of its job."""

import json
import logging
from asyncio import CancelledError
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import Error, OperationalError, connection

from jobs.conf import conf
from jobs.db import blames_database, is_lock_timeout, is_transient, transactional
from jobs.exceptions import Fatal, InvalidInput, JobLocked, OutcomeNotWritten
from jobs.handlers.base import LONGEST_CLASS, Answer, ClaimRef, Outcome, describe_error
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle import hooks, limits, waiting
from jobs.lifecycle.complete import MOST_AT_ONCE, complete_alike
from jobs.lifecycle.ending import COMPLETED, Ending, charged_for_crash, given_back
from jobs.lifecycle.fence import kept_locked, lock_held, refusals
from jobs.lifecycle.locked_job import LockedJob
from jobs.lifecycle.outputs.hand_over import hand_over
from jobs.lifecycle.retry_policy import Backoff, decide
from jobs.lifecycle.sql.together import Writes
from jobs.lifecycle.unwritten import leave_to_reaper
from jobs.lifecycle.workers import refreshing
from jobs.models import Job, JobEvent
from jobs.sanitise import clean_error, clean_json, clean_text
from jobs.states import EventName, Status, Verdict

logger = logging.getLogger("jobs.finish")

FAILURES = frozenset({EventName.FAILED, EventName.RETRYING, EventName.REAPED})


def complete(claim: ClaimRef, result: Any = None) -> Answer:
    return finish_one(Outcome.completed(claim, result))


def fail(claim: ClaimRef, error: str | BaseException, **options: Any) -> Answer:
    """`fatal=True` fails the job for good; `retry_after=` seconds and `count=False` are RetryLater's."""
    return finish_one(Outcome.failed(claim, error, **options))


def release(claim: ClaimRef, reason: str) -> Answer:
    """Hand a job back unfinished: it keeps its attempt."""
    return finish_one(Outcome.released(claim, reason))


def finish_one(outcome: Outcome) -> Answer:
    answer = finish([outcome])[0]
    if answer.refused:
        raise answer.refused
    if answer.status is None:
        raise OutcomeNotWritten(answer.reason)
    return answer


def finish(outcomes: Sequence[Outcome]) -> list[Answer]:
    """Record outcomes together; where one cannot be written, each on its own, and that one as a failure.

    Those whose jobs somebody keeps locked are refused for now (JobLocked): the others do not wait for them.
    """
    try:
        return finish_unlocked(outcomes)
    except Exception as error:  # whatever a value that no check foresaw can raise
        if blames_database(error):
            raise
        if len(outcomes) == 1:
            return [refuse(outcomes[0], error)]
        return [answer for outcome in outcomes for answer in finish([outcome])]


def refuse(outcome: Outcome, error: Exception) -> Answer:
    """Write a failure instead. If not even that can be written, the answer says so, and the reaper will charge it."""
    try:
        return finish_unlocked([outcome.refused(error)])[0]
    except Exception as problem:  # of the row itself, most likely
        if blames_database(problem):
            raise
        logger.exception("an outcome could be written neither as it is nor as a failure job=%s", outcome.claim.job_id)
        leave_to_reaper(outcome.claim)
        return Answer(outcome.claim, reason=first_line(f"It could not be written: {describe_error(problem)[0]}"))


def finish_unlocked(outcomes: Sequence[Outcome]) -> list[Answer]:
    try:
        return finish_together(outcomes)
    except LockKept:
        return finish_free(outcomes)


class LockKept(Exception):
    """A row was waited for in vain. To try that again is not for us: others are to be told how they ended."""


@transactional
def finish_together(outcomes: Sequence[Outcome]) -> list[Answer]:
    try:
        return record(outcomes)
    except OperationalError as error:
        if is_lock_timeout(error):
            raise LockKept from error
        raise


@transactional
def finish_free(outcomes: Sequence[Outcome]) -> list[Answer]:
    """Leave out those whose rows are locked; where something else was waited for, it is tried again."""
    locked = kept_locked({outcome.claim for outcome in outcomes})
    free = [outcome for outcome in outcomes if outcome.claim not in locked]
    answers = {answer.claim: answer for answer in (record(free) if free else ())}
    answers |= {claim: Answer(claim, refused=JobLocked(job_id=claim.job_id)) for claim in locked}
    return [answers[outcome.claim] for outcome in outcomes]


def record(outcomes: Sequence[Outcome]) -> list[Answer]:
    answers = complete_alike(outcomes)
    others = [outcome for outcome in outcomes if outcome.claim not in answers]
    if others:
        answers |= decide_and_write(others)
    return [answers[outcome.claim] for outcome in outcomes]


def decide_and_write(outcomes: Sequence[Outcome]) -> dict[ClaimRef, Answer]:
    claims = {outcome.claim for outcome in outcomes}
    held = lock_held(claims)
    jobs = list(held.values())
    answers = answer_strays([claim for claim in claims if claim not in held] if len(held) < len(claims) else ())
    endings: list[tuple[LockedJob, Ending]] = []
    for outcome in outcomes:
        if job := held.pop(outcome.claim, None):  # the first word counts
            ending = ending_of(job, outcome)
            endings.append((job, ending))
            answers[outcome.claim] = Answer(outcome.claim, ending.to, reason=told(ending.event, ending.reason))
    limits.hold_still(jobs)  # not before: hooks take their time, and every claim of a limited job would wait for them
    writes = Writes()
    apply(endings, writes)
    writes.add(*refreshing({job.worker_id for job in jobs}))
    writes.run()
    return answers


def answer_strays(claims: Collection[ClaimRef]) -> dict[ClaimRef, Answer]:
    """A claim that no longer holds may have been finished before: then it gets the same answer again."""
    if not claims:
        return {}
    accepted = JobEvent.objects.filter(
        job_id__in=[c.job_id for c in claims], claim_id__in={c.claim_id for c in claims}
    ).exclude(outcome="")
    needed = accepted.only("job_id", "claim_id", "outcome", "name", "reason")
    known = {(event.job_id, event.claim_id): event for event in needed}
    answers = {
        claim: Answer(claim, Status(event.outcome), repeated=True, reason=told(event.name, event.reason))
        for claim in claims
        if (event := known.get((claim.job_id, claim.claim_id)))
    }
    why = refusals([claim for claim in claims if claim not in answers])
    return answers | {claim: Answer(claim, refused=refusal) for claim, refusal in why.items()}


def told(event: str, reason: str) -> str:
    """What its worker shows: why an attempt failed."""
    return first_line(reason) if event in FAILURES else ""


def ending_of(job: LockedJob, outcome: Outcome) -> Ending:
    if outcome.verdict == Verdict.COMPLETED:
        return completed(job, outcome)
    if job.cancel_requested_at or outcome.verdict == Verdict.CANCELLED:
        return cancelled_or_released(job, outcome)
    if outcome.verdict == Verdict.RELEASED:
        return released(job, outcome)
    if outcome.verdict == Verdict.CRASHED:
        return crashed(job, outcome)
    if outcome.verdict == Verdict.WAITING:
        return suspended(job, outcome)
    return failed(job, outcome)


def completed(job: LockedJob, outcome: Outcome) -> Ending:
    """The kind's hook runs in this transaction; if it fails, so does the attempt, and nothing of it remains."""
    result = None if outcome.result is None else clean_json(outcome.result, conf.MAX_RESULT)
    kind = registry.find(job.kind)
    if result is None and not (kind and kind.has_completion):
        return COMPLETED
    if kind and kind.has_completion:
        try:
            hooks.run(accept, kind, Job.objects.get(pk=job.pk), result)
        except (Exception, SystemExit, CancelledError) as error:  # the last: of asyncio, in a hook that uses it
            if isinstance(error, Error) and (is_transient(error) or not connection.is_usable()):
                raise  # the whole finish is tried again
            if job.cancel_requested_at:
                return cancelled_or_released(job, Outcome.failed(outcome.claim, error))
            fatal = isinstance(error, Fatal) or kind.is_fatal(error)
            return failed(job, Outcome.failed(outcome.claim, error, fatal=fatal))
    return Ending(Status.COMPLETED, EventName.COMPLETED, result=None if result is None else json.dumps(result))


def accept(kind: Kind, job: Job, result: Any) -> None:
    """Files first: the kind's own hook builds on them."""
    if kind.files:
        hand_over(job, kind)
    if kind.on_complete:
        kind.on_complete(job, result)


def cancelled_or_released(job: LockedJob, outcome: Outcome) -> Ending:
    """A job with a cancel request never returns to pending; without one, the worker's word alone cancels nothing."""
    if not job.cancel_requested_at:
        return released(job, outcome)
    error = clean_error(outcome.error, conf.MAX_ERROR) or None
    return Ending(Status.CANCELLED, EventName.CANCELLED, reason="stopped by its worker", error=error)


def released(job: LockedJob, outcome: Outcome) -> Ending:
    reason = clean_error(outcome.error, conf.MAX_ERROR) or "handed back by its worker"
    return given_back(job, EventName.RELEASED, reason)


def crashed(job: LockedJob, outcome: Outcome) -> Ending:
    """As the reaper would: what had begun is charged, and what merely waited in that process is not."""
    error = clean_error(outcome.error, conf.MAX_ERROR) or "The process that ran it is gone."
    if job.has_started:
        return charged_for_crash(job, first_line(error), error)
    return given_back(job, EventName.REAPED, first_line(error))


def suspended(job: LockedJob, outcome: Outcome) -> Ending:
    """It waits for what it spawned, without a worker; its attempt begins anew when they have ended."""
    try:
        number = waiting.suspend(job, outcome.waits_for)
    except InvalidInput as error:
        return failed(job, Outcome.failed(outcome.claim, error, fatal=True))
    return replace(given_back(job, EventName.WAITING, f"for {number} of its jobs"), waits_for=number)


def failed(job: LockedJob, outcome: Outcome) -> Ending:
    error = clean_error(outcome.error, conf.MAX_ERROR)
    ending = partial(
        Ending,
        error=error,
        error_class=clean_text(outcome.error_class, LONGEST_CLASS),
        traceback=clean_error(outcome.traceback, conf.MAX_ERROR),
    )
    unmarked = int(not job.has_started)  # it ran all the same, or it could not have failed
    decision = decide(
        attempt=job.attempt + unmarked,
        max_attempts=job.max_attempts,
        backoff=Backoff.stored(job.backoff, job.pk),
        fatal=outcome.fatal,
        retry_after=outcome.retry_after,
        count=outcome.count,
    )
    charge = unmarked if outcome.count else unmarked - 1
    if not decision.retry:
        return ending(Status.FAILED, EventName.FAILED, reason=first_line(error), charge=unmarked)
    return ending(
        Status.PENDING,
        EventName.RETRYING,
        reason=f"in {decision.delay:.1f} s: {first_line(error)}",
        delay=decision.delay,
        charge=charge,
    )


def first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0][:300]


def apply(endings: Iterable[tuple[LockedJob, Ending]], writes: Writes) -> None:
    """Jobs that end alike are moved together, each with its own result; large results are written part by part."""
    groups: defaultdict[tuple[Ending, int], list[tuple[LockedJob, str | None]]] = defaultdict(list)
    size = 0
    plain: list[LockedJob] = []  # told apart first, for to find the group of one takes as long as all else
    for job, ending in endings:
        if ending is COMPLETED:
            plain.append(job)
        else:
            size += len(ending.result or "")
            groups[ending.alike(), size // MOST_AT_ONCE].append((job, ending.result))
    COMPLETED.move(plain, outcome=COMPLETED.to, writes=writes)
    for (ending, _), members in groups.items():
        results = {job.pk: result for job, result in members if result}
        ending.move([job for job, _ in members], outcome=ending.to, results=results, writes=writes)
        if size > MOST_AT_ONCE:
            writes.run()
