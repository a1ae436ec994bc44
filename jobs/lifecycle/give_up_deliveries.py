"""Give up deliveries: messages that could not be delivered for too long end, and the job's history says so.

Here is also how any message ends: its job is locked first, as by everybody who locks both.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db.models.functions import Now as StatementNow

from jobs.db import Now, transactional
from jobs.lifecycle import counts, events, transition
from jobs.lifecycle.sql.together import run_together
from jobs.models import Job, WebhookDelivery
from jobs.states import DeliveryStatus, EventName

BATCH = 500
TOO_LATE = "It could not be delivered for too long (JOBS_WEBHOOK_GIVE_UP)."
LOST = "Whoever sent it was lost on the way."
EVENTS = {
    DeliveryStatus.DELIVERED: EventName.WEBHOOK_DELIVERED,
    DeliveryStatus.FAILED: EventName.WEBHOOK_FAILED,
}
Reasons = Mapping[int, str]


def is_hopeless(row: Any) -> bool:
    """Its time is over, or its last try was never heard of again."""
    return bool(row.give_up_at <= row.now or row.tries >= row.max_tries)


@transactional
def give_up(rows: Sequence[WebhookDelivery]) -> int:
    """As they are under their lock; what somebody sends right now is left to that one."""
    jobs = lock_jobs(row.job_id for row in rows)
    again = WebhookDelivery.objects.pending().filter(pk__in=[row.pk for row in rows]).order_by("id")
    locked: Any = again.select_for_update(skip_locked=True, no_key=True).annotate(now=Now()).defer("result")
    ended = [row for row in locked if is_hopeless(row) and (row.next_try_at is None or row.next_try_at <= row.now)]
    for row in ended:
        row.last_error = LOST if row.tries >= row.max_tries else TOO_LATE
        WebhookDelivery.objects.filter(pk=row.pk).update(
            status=DeliveryStatus.FAILED, finished_at=Now(), claim_id=None, last_error=row.last_error
        )
    tell_history(jobs, ended, DeliveryStatus.FAILED, {row.pk: row.last_error for row in ended})
    return len(ended)


def give_up_held() -> int:
    """Of those that wait for their host, one batch whose time is over: nobody else looks at them."""
    held = WebhookDelivery.objects.pending().filter(next_try_at=None, give_up_at__lte=StatementNow())
    return give_up(list(held.order_by("id").defer("result")[:BATCH]))


def lock_jobs(job_ids: Iterable[int]) -> dict[int, Job]:
    """Those that are still there. Locked, so that no line is added to the history of one that is being deleted."""
    return {job.pk: job for job in transition.lock(Job.objects.with_ids(set(job_ids)))}


def tell_history(
    jobs: Mapping[int, Job], rows: Sequence[WebhookDelivery], status: DeliveryStatus, reasons: Reasons
) -> None:
    """All are tallied; history is not told of progress: there would be too much of it."""
    if not rows:
        return
    tallies = counts.untimed(EVENTS[status], ((row.queue, row.kind) for row in rows))
    run_together(list(counts.noted({}, tallies)))
    events.record(
        events.of_job(jobs[row.job_id], EVENTS[status], reason=f"{row.event} to {row.host}: {reasons[row.pk]}")
        for row in rows
        if row.event != EventName.PROGRESSED and row.job_id in jobs
    )
