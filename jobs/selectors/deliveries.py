"""Reads of the outbox: when to look next, what it holds, and which hosts are left alone."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import DurationField, ExpressionWrapper, F, QuerySet

from jobs.db import Now
from jobs.models import WebhookDelivery, WebhookHost
from jobs.states import DeliveryStatus

PAGE = 50
OF_A_JOB = 20


def next_delivery_in() -> float | None:
    """Seconds until a message is due, or a host may be tried again (0: now); None: nothing waits. One statement."""
    due = first_wait(WebhookDelivery.objects.pending().filter(next_try_at__isnull=False), "next_try_at")
    half_open = first_wait(WebhookHost.objects.filter(open_until__isnull=False), "open_until")
    waits: list[timedelta] = list(due.union(half_open, all=True))
    return max(0.0, min(waits).total_seconds()) if waits else None


def first_wait(rows: QuerySet[Any], moment: str) -> QuerySet[Any]:
    """In a subquery: SQLite takes no LIMIT in a part of a UNION."""
    first = rows.order_by(moment).values("pk")[:1]
    wait = ExpressionWrapper(F(moment) - Now(), output_field=DurationField())
    return rows.model._default_manager.filter(pk__in=first).annotate(wait=wait).values_list("wait", flat=True)


@dataclass(frozen=True)
class DeliveryFilter:
    status: str = ""
    host: str = ""
    job_id: int | None = None


@dataclass(frozen=True)
class DeliveryPage:
    deliveries: list[WebhookDelivery]
    older: int | None  # the id to go on from


def delivery_page(which: DeliveryFilter, before: int | None = None, size: int = PAGE) -> DeliveryPage:
    """The newest first; pages go by id, so that the last costs no more than the first."""
    rows = matching(which)
    if before:
        rows = rows.filter(pk__lt=before)
    found = list(rows.order_by("-pk").defer("result", "error")[: size + 1])
    return DeliveryPage(found[:size], found[size - 1].pk if len(found) > size else None)


def matching(which: DeliveryFilter) -> QuerySet[WebhookDelivery]:
    rows: QuerySet[WebhookDelivery] = WebhookDelivery.objects.all()
    if which.status in list(DeliveryStatus):
        rows = rows.filter(status=which.status)
    if which.host:
        rows = rows.filter(host=which.host)
    if which.job_id is not None:
        rows = rows.filter(job_id=which.job_id)
    return rows


def deliveries_of(job_id: int, most: int = OF_A_JOB) -> list[WebhookDelivery]:
    """The latest messages about a job, the newest first."""
    return list(WebhookDelivery.objects.filter(job_id=job_id).order_by("-pk").defer("result", "error")[:most])


def get_delivery(delivery_id: int) -> WebhookDelivery | None:
    return WebhookDelivery.objects.prefetch_related("history").filter(pk=delivery_id).first()


def hosts_left_alone() -> list[WebhookHost]:
    return list(WebhookHost.objects.filter(open_until__isnull=False).order_by("host"))


def host_of(delivery: WebhookDelivery) -> WebhookHost | None:
    return WebhookHost.objects.filter(host=delivery.host, open_until__isnull=False).first()
