"""Record deliveries: what became of tries, in the outbox, in the job's history, and in what is known of the hosts."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from jobs.conf import conf
from jobs.db import Now, transactional
from jobs.lifecycle import breaker
from jobs.lifecycle.give_up_deliveries import give_up_held, lock_jobs, tell_history
from jobs.models import WebhookDelivery, WebhookTry
from jobs.states import DeliveryStatus, EventName
from jobs.webhooks.message import Sent

GROWTH = 5.0
LONGEST_WAIT = 3600.0
JITTER = 0.2


def record_deliveries(sent: Sequence[Sent]) -> None:
    record(sent)
    if not all(each.host_is_well for each in sent):
        give_up_held()


@transactional
def record(sent: Sequence[Sent]) -> None:
    """A try whose message somebody else has taken over meanwhile says only how its host is."""
    jobs = lock_jobs(each.delivery.job_id for each in sent if each.delivery.event != EventName.PROGRESSED)
    by_id = {each.delivery.id: each for each in sent}
    rows = WebhookDelivery.objects.filter(pk__in=list(by_id)).order_by("id").select_for_update(no_key=True)
    tried = [(row, by_id[row.pk]) for row in rows.defer("result") if row.claim_id == by_id[row.pk].delivery.claim_id]
    WebhookTry.objects.bulk_create(
        WebhookTry(delivery=row, status=each.status, seconds=each.seconds, error=each.error, answer=each.answer)
        for row, each in tried
    )
    for status in (DeliveryStatus.DELIVERED, DeliveryStatus.FAILED):
        ended = [(row, each) for row, each in tried if status_after(row, each) == status]
        tell_history(jobs, [row for row, _ in ended], status, {row.pk: told(row, each) for row, each in ended})
    for row, each in tried:
        WebhookDelivery.objects.filter(pk=row.pk).update(**changes_after(row, each))
    breaker.note(sent)


def status_after(row: WebhookDelivery, each: Sent) -> DeliveryStatus:
    if each.delivered:
        return DeliveryStatus.DELIVERED
    return DeliveryStatus.FAILED if each.hopeless or row.tries >= row.max_tries else DeliveryStatus.PENDING


def changes_after(row: WebhookDelivery, each: Sent) -> dict[str, Any]:
    status = status_after(row, each)
    changes = {"status": status, "claim_id": None, "last_status": each.status, "last_error": each.error}
    if status == DeliveryStatus.PENDING:
        return changes | {"next_try_at": Now() + timedelta(seconds=wait_after(row.tries, each.retry_after))}
    return changes | {"finished_at": Now()}


def wait_after(tries: int, retry_after: float | None = None) -> float:
    """15 s, 75 s, 6 min, 31 min, and up to a fifth more; longer if the receiver asks for it."""
    wait = min(conf.WEBHOOK_BACKOFF * GROWTH ** (min(tries, 10) - 1), LONGEST_WAIT)
    return max(wait * random.uniform(1, 1 + JITTER), retry_after or 0)


def told(row: WebhookDelivery, each: Sent) -> str:
    number = f"try {row.tries} of {row.max_tries}"
    return f"{each.status} in {each.seconds:.2f} s, {number}" if each.delivered else f"{each.error} ({number})"
