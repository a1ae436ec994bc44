"""Retry and requeue: a person asks for an ended job to run again."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from jobs.conf import conf
from jobs.db import transactional
from jobs.lifecycle import transition, waiting
from jobs.lifecycle.by_batch import MoveResult, by_batch
from jobs.lifecycle.selection import Selection
from jobs.models import Job, PhaseProgress, QualityProgress
from jobs.states import TERMINAL, EventName, PhaseStatus, QualityStatus, Status

RETRYABLE = (Status.FAILED, Status.CANCELLED)
NOT_ENDED = "it has not ended, or is gone"
NOT_RETRYABLE = "it is not failed or cancelled"


def retry(selection: Selection, reason: str = "") -> MoveResult:
    """Run failed or cancelled jobs again with all attempts; finished phases, qualities and the checkpoint stay."""
    return by_batch(selection, partial(retry_batch, reason=reason), NOT_RETRYABLE)


def requeue(selection: Selection, reason: str = "") -> MoveResult:
    """Run ended jobs, completed ones too, again from nothing."""
    return by_batch(selection, partial(requeue_batch, reason=reason), NOT_ENDED)


# What any new run begins with. The progress stays: by `progressed_at` a claim knows that there are parts to hand over.
AGAIN = {
    "attempt": 0, "started_at": None, "step": "", "cancel_requested_at": None, "last_error": "",
    "last_error_class": "", "last_traceback": "",
}  # fmt: skip
FROM_THE_START = AGAIN | {"progress": 0, "progressed_at": None, "crashes": 0, "checkpoint": None, "result": None}


@transactional
def retry_batch(ids: Sequence[int], reason: str) -> list[int]:
    jobs = transition.lock(Job.objects.with_ids(list(ids)).filter(status__in=RETRYABLE))
    waiting.forget_children(jobs, all_of_them=False)
    put_back(jobs, reason or "retried", **AGAIN)
    reopen_parts([job.pk for job in jobs])
    return [job.pk for job in jobs]


@transactional
def requeue_batch(ids: Sequence[int], reason: str) -> list[int]:
    jobs = transition.lock(Job.objects.with_ids(list(ids)).filter(status__in=TERMINAL))
    waiting.forget_children(jobs, all_of_them=True)
    put_back(jobs, reason or "requeued from the start", **FROM_THE_START)
    moved = [job.pk for job in jobs]
    PhaseProgress.objects.filter(job__in=moved).delete()
    QualityProgress.objects.filter(job__in=moved).delete()
    return moved


def put_back(jobs: Sequence[Job], reason: str, **changes: Any) -> None:
    """One that waited for others waits again for those that have not ended; how the others did is not asked again."""
    for number, group in waiting.reopen(jobs).items():
        transition.move(group, Status.PENDING, EventName.REQUEUED, reason=reason, waits_for=number, **changes)


def reopen_parts(job_ids: Sequence[int]) -> None:
    """What was not completed is to be done again; completed qualities stay unless the setting says otherwise."""
    phases = PhaseProgress.objects.filter(job__in=job_ids).exclude(status=PhaseStatus.COMPLETED)
    phases.update(status=PhaseStatus.PENDING, progress=0, error="", started_at=None, finished_at=None)
    qualities = QualityProgress.objects.filter(job__in=job_ids).exclude(status=QualityStatus.SKIPPED)
    if conf.KEEP_COMPLETED_QUALITIES:
        qualities = qualities.exclude(status=QualityStatus.COMPLETED)
    qualities.update(
        status=QualityStatus.PENDING, progress=0, segments_completed=0, error="", started_at=None, finished_at=None
    )
