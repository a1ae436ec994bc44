"""Clear: ended jobs are deleted, with their history. A pending or running one never is."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from jobs.db import transactional
from jobs.given import Among
from jobs.lifecycle import events, hooks, transition, waiting
from jobs.lifecycle.forget_deliveries import forget
from jobs.lifecycle.selection import Selection, batches
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.together import run_together
from jobs.models import Job, JobEvent, PhaseProgress, QualityProgress, WebhookDelivery
from jobs.states import TERMINAL, EventName


def clear(selection: Selection, reason: str = "cleared") -> list[int]:
    """Delete ended jobs in batches; returns the ids of those deleted."""
    return [job_id for ids in batches(selection) for job_id in clear_batch(ids, reason)]


@transactional
def clear_batch(ids: list[int], reason: str) -> list[int]:
    return delete(transition.lock(Job.objects.with_ids(ids).filter(status__in=TERMINAL), skip_locked=True), reason)


def delete(jobs: Sequence[Job], reason: str) -> list[int]:
    """Delete locked jobs and all that belongs to them; one event remains to tell of each."""
    jobs = hooks.passed(jobs, "on_delete")
    ids = [job.pk for job in jobs]
    if not ids:
        return []
    JobEvent.objects.filter(Among("job_id", ids)).delete()
    run_together(list(last_words(jobs, reason)))
    PhaseProgress.objects.filter(job__in=ids).delete()
    QualityProgress.objects.filter(job__in=ids).delete()
    waiting.forget(ids)
    # What is yet to be delivered is, all the same.
    forget(WebhookDelivery.objects.filter(job_id__in=ids, finished_at__isnull=False))
    Job.objects.with_ids(ids)._raw_delete(Job.objects.db)  # no cascade left to collect
    transition.count(jobs, None)
    return ids


def last_words(jobs: Sequence[Job], reason: str) -> Iterator[Bound]:
    """The events that remain, made inside the database of the rows while these are there."""
    alike: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for job in jobs:
        alike[job.status, job.kind].append(job.pk)
    for (status, kind), ids in alike.items():
        yield events.of_jobs(ids, EventName.DELETED, reason=f"{status} {kind}: {reason}")
