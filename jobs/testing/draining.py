"""Drain: run what is enqueued, one job after the other in the order of claims, until nothing is left."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from jobs.exceptions import InvalidInput, JobyardError, RetryLater
from jobs.handlers.base import Answer, ClaimedJob, Outcome
from jobs.lifecycle.new_job import check_queue
from jobs.lifecycle.run_now import run_now
from jobs.models import Job, JobQuerySet, Queue
from jobs.states import Status, Verdict
from jobs.testing.inline_worker import InlineWorker, Ran

MOST_JOBS = 1000  # in one drain that was given no limit: a handler that enqueues itself would keep it up for ever


class JobFailed(JobyardError, AssertionError):
    """Job {job_id} ({kind}) failed in attempt {attempt} of {max_attempts}: {error}"""


class TooManyJobs(JobyardError, AssertionError):
    """{most} jobs were run and more are ready, {kind} next: does a handler enqueue itself? Or give max_jobs=…"""


class NeverCameTrue(JobyardError, AssertionError):
    """Nothing is left to run, and until=… did not come true. Jobs that were run: {ran}."""


def drain(
    queue: str | Sequence[str] | None = None,
    *,
    max_jobs: int | None = None,
    until: Callable[[Job], object] | None = None,
    scheduled: bool = False,
    raise_errors: bool = True,
) -> list[Job]:
    """Run the jobs that are due, and those that they enqueue; returns each as it was after its attempt, in order.

    `queue`: only from this one, or these. `max_jobs`: stop after so many attempts. `until`: stop when it says yes of
    the job that was just run. `scheduled`: also run what is scheduled for later, retries included, in the order of
    time, as if that had come. What a handler raises is recorded as a worker would, and then raised here;
    `raise_errors=False` leaves it at that.
    """
    queues = checked_queues(queue)
    if max_jobs is not None and (isinstance(max_jobs, bool) or not isinstance(max_jobs, int) or max_jobs < 1):
        raise InvalidInput(f"max_jobs is {max_jobs!r}, but it must be a whole number from 1 on.")
    ran: list[Job] = []
    with InlineWorker(queues) as worker:
        while max_jobs is None or len(ran) < max_jobs:
            claimed = next_job(worker, queues, scheduled)
            if claimed is None:
                break
            if max_jobs is None and len(ran) == MOST_JOBS:
                raise TooManyJobs(most=MOST_JOBS, kind=claimed.kind)
            ran.append(worked(worker, claimed, raise_errors))
            if until and until(ran[-1]):
                return ran
    if until:
        raise NeverCameTrue(ran=", ".join(f"{job.kind} ({job.status})" for job in ran) or "none")
    return ran


@contextmanager
def run_inline(
    queue: str | Sequence[str] | None = None, *, scheduled: bool = False, raise_errors: bool = True
) -> Iterator[list[Job]]:
    """Run the jobs of a block when it ends: `with run_inline() as ran: …`; `ran` is what `drain` returns.

    Not at the call of `enqueue`: there no worker could have seen the job yet, nor what the block goes on to write.
    """
    ran: list[Job] = []
    yield ran
    ran += drain(queue, scheduled=scheduled, raise_errors=raise_errors)


def checked_queues(queue: str | Sequence[str] | None) -> list[str]:
    if queue is None:
        return []
    return [check_queue(name) for name in ([queue] if isinstance(queue, str) else queue)]


def next_job(worker: InlineWorker, queues: Sequence[str], scheduled: bool) -> ClaimedJob | None:
    claimed = worker.claim()
    while claimed is None and scheduled and bring_forward(queues):
        claimed = worker.claim()
    return claimed


def bring_forward(queues: Sequence[str]) -> bool:
    """Let the time of the next scheduled jobs come; of all with the same time at once, so that priority decides."""
    waiting: JobQuerySet = Job.objects.scheduled().exclude(
        queue__in=Queue.objects.filter(paused=True).values_list("name", flat=True)
    )
    if queues:
        waiting = waiting.filter(queue__in=queues)
    first = waiting.first()
    if first is None:
        return False
    run_now(waiting.filter(run_after__lte=first.run_after), reason="a test let its time come")
    return True


def worked(worker: InlineWorker, claimed: ClaimedJob, raise_errors: bool) -> Job:
    ran = worker.work(claimed)
    job = Job.objects.get(pk=claimed.id)
    error = error_of(ran, job)
    if error and (raise_errors or not isinstance(error, (Exception, SystemExit))):  # Ctrl-C and pytest's own, always
        error.add_note(f"raised by the handler of job {job.pk} ({job.kind}), payload {job.payload!r}")
        raise error
    return job


def error_of(ran: Ran, job: Job) -> BaseException | None:
    """What went wrong, if it did: the handler's own exception, or else what the worker made of it."""
    outcome, answer = ran.outcome, ran.answer
    if outcome is None or answer is None:
        return None
    if answer.status is None:
        return failed(job, str(answer.refused or "its outcome could not be stored; the log says why"))
    if outcome.verdict == Verdict.FAILED and isinstance(ran.raised, RetryLater) and job.status != Status.FAILED:
        return None
    if outcome.verdict == Verdict.FAILED and ran.raised:
        return ran.raised
    if outcome.verdict == Verdict.FAILED or is_failed_hook(outcome, answer):
        return failed(job, f"{job.last_error}\n{job.last_traceback}".strip())
    return None


def is_failed_hook(outcome: Outcome, answer: Answer) -> bool:
    return outcome.verdict == Verdict.COMPLETED and answer.status != Status.COMPLETED


def failed(job: Job, error: str) -> JobFailed:
    return JobFailed(job_id=job.pk, kind=job.kind, attempt=job.attempt, max_attempts=job.max_attempts, error=error)
