"""What operators do with periodic jobs: add, edit, back to what the code says, remove, run now."""

from typing import Any

from django.db import IntegrityError, transaction

from jobs.db import transactional
from jobs.exceptions import InvalidInput, PeriodicJobBusy, PeriodicJobDeclared
from jobs.handlers.periodic import TERMS, Declaration, checked
from jobs.handlers.schedules import parse_schedule
from jobs.lifecycle.new_job import check_kind
from jobs.lifecycle.payload import check_payload
from jobs.lifecycle.periodic.rows import announce, locked, replanned
from jobs.lifecycle.periodic.tick import enqueue_for, keep, unended_job
from jobs.models import PeriodicJob, PeriodicTick
from jobs.states import TickOutcome


@transactional
def add(declaration: Declaration) -> PeriodicJob:
    """One that no code declares."""
    check_kind(declaration.kind, allow_unknown=False)
    terms = check(declaration)
    try:
        with transaction.atomic():
            PeriodicJob.objects.create(name=declaration.name, kind=declaration.kind, **terms)
    except IntegrityError:
        raise InvalidInput(f"There is a periodic job {declaration.name!r} already; choose another name.") from None
    row = locked(declaration.name)
    with replanned(row):
        pass
    row.save()
    announce()
    return row


@transactional
def edit(name: str, **changes: Any) -> list[str]:
    """Set terms; returns which of them changed. What the code says about these no longer counts, until `reset`."""
    if unknown := set(changes) - set(TERMS):
        raise InvalidInput(f"A periodic job has no {', '.join(sorted(unknown))}; choose from {', '.join(TERMS)}.")
    row = locked(name)
    now_so = row.as_declaration().terms()
    terms = check(Declaration(row.name, row.kind, **{**now_so, **changes}))
    changed = [term for term in TERMS if terms[term] != now_so[term]]
    if changed:
        row.edited = differences({**now_so, **terms}, row.declared)
        set_terms(row, terms)
    return changed


@transactional
def reset(name: str) -> list[str]:
    """Back to what the code says; returns what that changed."""
    row = locked(name)
    if row.declared is None:
        raise InvalidInput(f"The periodic job {name} was made by hand: no code says how it should be.")
    edited, row.edited = list(row.edited), []
    if edited:
        set_terms(row, row.declared)
    return edited


def set_terms(row: Any, terms: dict[str, Any]) -> None:
    with replanned(row):
        for term in TERMS:
            setattr(row, term, terms[term])
        row.problem = ""
    row.save()
    announce()


def differences(terms: dict[str, Any], declared: dict[str, Any] | None) -> list[str]:
    """What an operator has set otherwise than the code; of one made by hand, nothing."""
    return [] if declared is None else [term for term in TERMS if terms[term] != declared.get(term)]


def check(declaration: Declaration) -> dict[str, Any]:
    terms = checked(declaration).terms()
    check_payload(terms["payload"])
    return {**terms, "schedule": parse_schedule(terms["schedule"], terms["timezone"]).text}


@transactional
def remove(name: str) -> None:
    """Forget it, with the history of its ticks; the jobs it enqueued stay."""
    row = locked(name)
    if row.declared is not None and row.gone_at is None:
        raise PeriodicJobDeclared(name=name)
    row.delete()


@transactional
def run_now(name: str) -> int:
    """Enqueue a job of it now, beside its ticks, also while it is off; returns the job's id."""
    row = locked(name)
    if busy := unended_job(row):
        raise PeriodicJobBusy(name=name, job_id=busy)
    job_id = enqueue_for(row)
    row.last_job_id, row.last_at = job_id, row.now
    row.save(update_fields=["last_job_id", "last_at"])
    keep(row, [PeriodicTick(periodic=row, tick_at=row.now, outcome=TickOutcome.BY_HAND, job_id=job_id)])
    return job_id
