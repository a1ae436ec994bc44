"""Report: how far a running job is. Every report renews the lease."""

import math
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import F

from jobs.conf import conf
from jobs.db import Now, transactional
from jobs.dispatch import link, progress
from jobs.exceptions import InvalidInput
from jobs.handlers.base import UNSET, PhaseReport, QualityReport, Report
from jobs.lifecycle import announce, events
from jobs.lifecycle.fence import KNOWN, lock_one
from jobs.lifecycle.locked_job import LockedJob
from jobs.lifecycle.new_job import check_choice
from jobs.models import Job, JobEvent, PhaseProgress, QualityProgress
from jobs.sanitise import clean_error, clean_text, measured_json
from jobs.states import EventName, PhaseStatus, QualityStatus

MAX_STEP, MAX_NAME = 200, 50
MOST_PHASES, MOST_SEGMENTS = 2**15 - 1, 2**31 - 1  # what the columns hold


@transactional
def report(what: Report) -> None:
    """Write a report of the claim's holder; raises ClaimExpired or ClaimLost if it is not."""
    what = checked(what)
    job = lock_one(what.claim)
    Job.objects.filter(pk=job.pk).update(**changes(what))
    if what.progress is not None:
        announce.progress_of(job, what.progress)
    history = [*report_phases(job, what.phases), *report_qualities(job, what.qualities)]
    if what.progress is not None and what.progress != job.progress:
        history.append(events.of_job(job, EventName.PROGRESSED, reason=f"{what.progress} % {what.step or ''}".strip()))
    if history:
        events.record(history)
    if link.is_on():
        transaction.on_commit(partial(progress.publish, job.pk, as_told(job, what)), robust=True)


def as_told(job: LockedJob, what: Report) -> dict[str, Any]:
    """What is published of a report: numbers and names, never a checkpoint or a result."""
    return {
        "job": job.pk,
        "kind": job.kind,
        "queue": job.queue,
        "progress": job.progress if what.progress is None else what.progress,
        "step": what.step,
        "phases": {phase.name: {"status": phase.status, "progress": phase.progress} for phase in what.phases},
        "qualities": {each.name: {"status": each.status, "progress": each.progress} for each in what.qualities},
    }


def checked(what: Report) -> Report:
    """Refuse impossible numbers; clean what is only untidy."""
    step = None if what.step is None else clean_text(what.step, MAX_STEP)
    what = replace(what, step=step, phases=tuple(what.phases), qualities=tuple(what.qualities))
    check_percent(what.progress)
    for phase in what.phases:
        check_phase(phase)
    for quality in what.qualities:
        check_quality(quality)
    return what


def check_percent(percent: Any) -> None:
    if percent is not None and not is_count(percent, 100):
        raise InvalidInput(f"A progress is a whole number from 0 to 100, not {percent!r}.")


def is_count(number: Any, most: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= most


def check_phase(phase: PhaseReport) -> None:
    check_percent(phase.progress)
    check_choice(f"The status of phase {phase.name!r}", phase.status, PhaseStatus)
    if not is_count(phase.position, MOST_PHASES):
        raise InvalidInput(f"Phase {phase.name!r} has the position {phase.position!r}; it is 0 to {MOST_PHASES}.")
    weight = phase.weight
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
        raise InvalidInput(f"The weight of phase {phase.name!r} is a number above zero, not {weight!r}.")


def check_quality(quality: QualityReport) -> None:
    check_percent(quality.progress)
    if quality.status is not None:
        check_choice(f"The status of quality {quality.name!r}", quality.status, QualityStatus)
    for segments in (quality.segments_total, quality.segments_completed):
        if segments is not None and not is_count(segments, MOST_SEGMENTS):
            raise InvalidInput(
                f"Segments of quality {quality.name!r} are counted from 0 to {MOST_SEGMENTS}, not {segments!r}."
            )


def storable(name: str, value: Any) -> Any:
    """Clean, or refused: a later attempt builds on it, and a note that it was too large would mislead that one."""
    cleaned, size = measured_json(value, conf.MAX_RESULT)
    if size > conf.MAX_RESULT:
        raise InvalidInput(
            f"{name} takes {size} bytes as JSON or more; JOBS_MAX_RESULT allows {conf.MAX_RESULT}. "
            "Store the data elsewhere and keep its name."
        )
    return cleaned


def changes(what: Report) -> dict[str, Any]:
    changed: dict[str, Any] = {"lease_expires_at": Now() + F("lease"), "progressed_at": Now(), **KNOWN}
    if what.progress is not None:
        changed["progress"] = what.progress
    if what.step is not None:
        changed["step"] = what.step
    if what.checkpoint is not UNSET:
        changed["checkpoint"] = storable("The checkpoint", what.checkpoint)
    return changed


def report_phases(job: LockedJob, reports: Iterable[PhaseReport]) -> list[JobEvent]:
    """Store where each phase stands, and return the events of those that were completed by this."""
    known = {phase.name: phase for phase in PhaseProgress.objects.filter(job=job.pk)} if reports else {}
    completed = []
    for told in reports:
        name = clean_text(told.name, 100)
        phase = known.setdefault(name, PhaseProgress(job_id=job.pk, name=name))
        if told.status == PhaseStatus.COMPLETED != phase.status:
            completed.append(events.of_job(job, EventName.PHASE_COMPLETED, reason=name))
        update_phase(phase, told, job)
        phase.save()
    return completed


def update_phase(phase: PhaseProgress, told: PhaseReport, job: LockedJob) -> None:
    if told.status == PhaseStatus.RUNNING and (phase.status != PhaseStatus.RUNNING or phase.attempt != job.attempt):
        phase.started_at, phase.finished_at = Now(), None
    if told.status in (PhaseStatus.COMPLETED, PhaseStatus.FAILED):
        phase.finished_at = Now()
    phase.position, phase.weight, phase.attempt = told.position, told.weight, job.attempt
    phase.status, phase.progress = told.status, told.progress
    phase.result = storable(f"The result of phase {phase.name!r}", told.result)
    phase.error = clean_error(told.error, conf.MAX_ERROR)


def report_qualities(job: LockedJob, reports: Iterable[QualityReport]) -> list[JobEvent]:
    known = {quality.name: quality for quality in QualityProgress.objects.filter(job=job.pk)} if reports else {}
    completed = []
    for told in reports:
        name = clean_text(told.name, MAX_NAME)
        quality = known.setdefault(name, QualityProgress(job_id=job.pk, name=name))
        if told.status == QualityStatus.COMPLETED != quality.status:
            completed.append(events.of_job(job, EventName.QUALITY_COMPLETED, reason=name))
        update_quality(quality, told)
        quality.save()
    return completed


FINISHED_QUALITY = (QualityStatus.COMPLETED, QualityStatus.FAILED, QualityStatus.SKIPPED)


def update_quality(quality: QualityProgress, told: QualityReport) -> None:
    if told.status == QualityStatus.IN_PROGRESS != quality.status:
        quality.started_at, quality.finished_at = Now(), None
    if told.status in FINISHED_QUALITY and told.status != quality.status:
        quality.finished_at = Now()
    for field in ("status", "progress", "segments_total", "segments_completed"):
        if getattr(told, field) is not None:
            setattr(quality, field, getattr(told, field))
    if quality.segments_total is not None:  # an estimate of the total may fall short
        quality.segments_total = max(quality.segments_total, quality.segments_completed)
    if told.error is not None:
        quality.error = clean_error(told.error, conf.MAX_ERROR)
    if told.details is not None:
        details = {**quality.details, **told.details}
        quality.details = storable(f"What is told of quality {quality.name!r}", details)
