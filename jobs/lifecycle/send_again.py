"""Send again: an operator wants a message sent now, whether it was delivered, was given up, or waits for a try."""

from collections.abc import Collection
from datetime import timedelta

from jobs.conf import conf
from jobs.db import Now, transactional
from jobs.lifecycle import announce, breaker
from jobs.models import WebhookDelivery
from jobs.states import DeliveryStatus


@transactional
def send_again(delivery_ids: Collection[int]) -> list[int]:
    """With the same id, so that a receiver who has it knows. What is being sent right now is left alone."""
    chosen = WebhookDelivery.objects.filter(pk__in=list(delivery_ids), claim_id=None)
    breaker.let_try(set(chosen.values_list("host", flat=True)))  # first: hosts are locked before what they hold
    ids = list(chosen.order_by("id").select_for_update(no_key=True).values_list("pk", flat=True))
    if ids:
        WebhookDelivery.objects.filter(pk__in=ids).update(
            status=DeliveryStatus.PENDING,
            finished_at=None,
            tries=0,
            next_try_at=Now(),
            give_up_at=Now() + timedelta(seconds=conf.WEBHOOK_GIVE_UP),
        )
        announce.call_somebody()
    return ids
