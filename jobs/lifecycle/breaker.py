"""A circuit breaker for each host, kept in the database so that all workers agree.

Closed: no row, or one with few failures. Open: nothing is sent until `open_until`; messages that come are held. Then
whoever takes the right to probe sends one of them, and moves `open_until` on, so that nobody else does. If that
succeeds, the row goes and the held ones are due. If not, the host is left alone for longer. If whoever probed is dead,
the next one does. Messages are held and let go under the lock of their host's row: none is forgotten.
"""

import random
from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from uuid import UUID

from django.db import models

from jobs.conf import conf
from jobs.db import Now
from jobs.lifecycle.sql.insert import insert_new
from jobs.models import DeliveryQuerySet, WebhookDelivery, WebhookHost
from jobs.webhooks.message import Sent

LONGEST = 10  # times the first pause
JITTER = 0.2
HELD_AT_ONCE = 5000
KEPT = timedelta(days=1)


def probes(claim_id: UUID, lease: timedelta) -> Iterator[WebhookDelivery]:
    """For each host that may be tried again, and that nobody else tries now, one of its messages."""
    over = WebhookHost.objects.filter(open_until__lte=Now()).order_by("host")
    for host in over.values_list("host", flat=True):
        mine = WebhookHost.objects.filter(host=host, open_until__lte=Now())
        if not mine.update(open_until=Now() + lease, probe=claim_id):
            continue
        # Two questions, each by its index: of both in one, all that is held would be read and sorted.
        due, held = WebhookDelivery.objects.due().filter(host=host), WebhookDelivery.objects.held(host)
        if first := locked(due.order_by("next_try_at", "id")) or locked(held.order_by("id")):
            yield first
        else:  # nothing to try it with: the next message is sent as any other, and may not fail
            WebhookHost.objects.filter(host=host).update(
                open_until=None, probe=None, failures=max(0, conf.WEBHOOK_BREAKER - 1)
            )


def locked(rows: DeliveryQuerySet) -> WebhookDelivery | None:
    return rows.annotate(now=Now()).select_for_update(skip_locked=True, no_key=True).first()


def hold_back(hosts: Collection[str]) -> set[str]:
    """Hold what is due for those of the hosts that are open, and return these; in order, as everybody locks them."""
    failing = WebhookHost.objects.filter(host__in=list(hosts), open_until__isnull=False).values_list("host", flat=True)
    return {host for host in sorted(failing) if hold(host)}


def hold(host: str) -> bool:
    if not list(lock(host).filter(open_until__gt=Now())):
        return False
    due = WebhookDelivery.objects.due().filter(host=host).select_for_update(skip_locked=True, no_key=True)
    ids = list(due.values_list("pk", flat=True)[:HELD_AT_ONCE])
    WebhookDelivery.objects.filter(pk__in=ids).update(next_try_at=None, claim_id=None)
    return True


def lock(host: str) -> models.QuerySet[WebhookHost]:
    return WebhookHost.objects.select_for_update(no_key=True).filter(pk=host)


def note(sent: Sequence[Sent]) -> None:
    """What these tries say of their hosts. One that answered anything is well, whatever others met with."""
    well = {each.delivery.host for each in sent if each.host_is_well and each.status is not None}
    failed = {each.delivery.host for each in sent if not each.host_is_well} - well
    known = set(WebhookHost.objects.filter(host__in=well).values_list("host", flat=True)) if well else set()
    for host in sorted(known | failed):
        if host in well:
            close(host)
        else:
            note_failures(host, [each for each in sent if each.delivery.host == host and not each.host_is_well])


def close(host: str) -> None:
    WebhookHost.objects.filter(host=host).delete()
    WebhookDelivery.objects.held(host).update(next_try_at=Now())


def note_failures(host: str, failed: Sequence[Sent]) -> None:
    insert_new(WebhookHost, {"host": "%s"}, [[host]], returning=["host"])
    row = lock(host).get()
    row.failures, row.last_error, row.failed_at = row.failures + len(failed), failed[-1].error, Now()
    is_probe = row.probe is not None and row.probe in {each.delivery.claim_id for each in failed}
    # What was under way when it opened says nothing new.
    if conf.WEBHOOK_BREAKER and row.failures >= conf.WEBHOOK_BREAKER and (row.open_until is None or is_probe):
        row.open_until, row.probe = Now() + timedelta(seconds=pause_after(row.openings)), None
        row.openings += 1
    row.save()


def pause_after(openings: int) -> float:
    pause = min(conf.WEBHOOK_BREAKER_PAUSE * 2 ** min(openings, 10), LONGEST * conf.WEBHOOK_BREAKER_PAUSE)
    return pause * random.uniform(1, 1 + JITTER)


def let_try(hosts: Collection[str]) -> None:
    """An operator says that they are worth a try now."""
    for host in sorted(hosts):
        WebhookHost.objects.filter(host=host, open_until__gt=Now()).update(open_until=Now(), probe=None)


def forget_old() -> None:
    """Who failed long ago, and holds nothing up."""
    WebhookHost.objects.filter(failed_at__lt=Now() - KEPT, open_until=None).delete()
