"""Checks what really ran against what the database says of it: a history and the events must tell one story."""

from collections import Counter

from jobs.models import Job, JobEvent
from jobs.states import EventName, Status
from tests.app.history import Line

GIVES_BACK = (EventName.RELEASED,)
ENDS = (EventName.COMPLETED, EventName.FAILED, EventName.CANCELLED)


def check(history: list[Line]) -> None:
    """Raises AssertionError with the first thing that does not fit."""
    claimed = set(JobEvent.objects.filter(name=EventName.CLAIMED).values_list("job_id", "claim_id"))
    starts = Counter((line.job, line.claim) for line in history if line.what == "start")
    known = {(job, str(claim)) for job, claim in claimed}
    assert starts.keys() <= known, f"ran without a claim: {starts.keys() - known}"
    assert not [claim for claim, times in starts.items() if times > 1], f"one claim ran twice: {starts}"
    for job in Job.objects.all():
        check_job(job, [line for line in history if line.job == job.pk])


def check_job(job: Job, lines: list[Line]) -> None:
    names = list(JobEvent.objects.filter(job_id=job.pk).order_by("id").values_list("name", flat=True))
    executions = sum(line.what == "start" for line in lines)
    given_back = sum(name in GIVES_BACK for name in names)
    assert executions <= job.max_attempts + given_back, f"job {job.pk} ran {executions} times: {names}"
    ended = [name for name in names if name in ENDS]
    assert len(ended) == (job.status not in (Status.PENDING, Status.RUNNING)), f"job {job.pk} ended as {ended}"
    if job.status == Status.COMPLETED:
        accepted = JobEvent.objects.get(job_id=job.pk, name=EventName.COMPLETED).claim_id
        assert str(accepted) in {line.claim for line in lines}, (
            f"job {job.pk} was completed by a claim that did not run"
        )
