"""Take deliveries: whoever sends messages takes some that are due, for as long as sending can last.

A message that is being sent is one that is due again when its sender must be dead: so it is taken over.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db.models import F

from jobs.conf import conf
from jobs.db import Now, transactional
from jobs.lifecycle import breaker
from jobs.lifecycle.give_up_deliveries import give_up, is_hopeless
from jobs.models import WebhookDelivery
from jobs.states import EventName, Status
from jobs.webhooks.message import Delivery, body_of, result_within

LOOK_BEHIND = 4  # times what is wanted: what is first in line may be for hosts that have no room
MARGIN = 30.0  # seconds on top of the longest request
Room = Callable[[str], int]


def take_deliveries(limit: int, room: Room) -> list[Delivery]:
    """Up to `limit` messages, for a host no more than it has `room` for; what is hopeless by now is given up."""
    taken, hopeless = take(limit, room)
    if hopeless:
        give_up(hopeless)
    return taken


@transactional
def take(limit: int, room: Room) -> tuple[list[Delivery], list[WebhookDelivery]]:
    claim_id = uuid4()
    probing = list(breaker.probes(claim_id, lease()))
    due: Any = WebhookDelivery.objects.due().exclude(pk__in=[row.pk for row in probing]).order_by("next_try_at", "id")
    locked = due.select_for_update(skip_locked=True, no_key=True).annotate(now=Now())
    rows = list(locked[: max(0, limit - len(probing)) * LOOK_BEHIND])
    open_hosts = breaker.hold_back({row.host for row in rows}) if rows else set()
    hopeless = [row for row in (*probing, *rows) if is_hopeless(row)]
    able = [row for row in rows if row.host not in open_hosts and row not in hopeless]
    chosen = [*(row for row in probing if row not in hopeless), *fitting(able, limit - len(probing), room)]
    WebhookDelivery.objects.filter(pk__in=[row.pk for row in chosen]).update(
        claim_id=claim_id, tries=F("tries") + 1, next_try_at=Now() + lease()
    )
    return [delivery_of(row, claim_id) for row in chosen], hopeless


def fitting(rows: Sequence[Any], limit: int, room: Room) -> list[Any]:
    chosen: list[Any] = []
    taken: Counter[str] = Counter()
    for row in rows:
        if len(chosen) < limit and taken[row.host] < room(row.host):
            chosen.append(row)
            taken[row.host] += 1
    return chosen


def lease() -> timedelta:
    return timedelta(seconds=conf.WEBHOOK_TIMEOUT + MARGIN)


def delivery_of(row: Any, claim_id: UUID) -> Delivery:
    return Delivery(
        id=row.pk,
        claim_id=claim_id,
        message_id=row.message_id,
        job_id=row.job_id,
        event=row.event,
        url=row.url,
        host=row.host,
        body=body_for(row),
        timestamp=int(row.now.timestamp()),
    )


def body_for(row: WebhookDelivery) -> bytes:
    """What is sent: the job as it was when this happened."""
    data = {
        "job_id": row.job_id,
        "kind": row.kind,
        "queue": row.queue,
        "subject": row.subject,
        "scope": row.scope,
        "status": Status.RUNNING.value if row.event == EventName.PROGRESSED else row.event,
        "attempt": row.attempt,
        "progress": row.progress,
        **result_within(row.result, conf.WEBHOOK_MAX_RESULT),
        "error": row.error,
        "enqueued_at": iso(row.enqueued_at),
        "started_at": row.started_at and iso(row.started_at),
    }
    return body_of(row.event, iso(row.created_at), data)


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
