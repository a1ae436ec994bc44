"""Forget deliveries: messages are deleted with the history of their tries, without bringing what they say here."""

from collections.abc import Sequence

from django.db.models import QuerySet

from jobs.given import Among, GivenList
from jobs.lifecycle.sql.built_once import Statement, built_once, select
from jobs.lifecycle.sql.delete import delete_from
from jobs.lifecycle.sql.together import run_together
from jobs.models import WebhookDelivery, WebhookTry


@built_once
def ended_of_jobs() -> Statement:
    """The ids of the messages of jobs that are not to be sent any more."""
    messages = WebhookDelivery.objects.filter(Among("job_id", GivenList("ids")), finished_at__isnull=False)
    return select(messages.values_list("pk"))


def forget(messages: QuerySet[WebhookDelivery]) -> int:
    return forget_with_ids(list(messages.values_list("pk", flat=True)))


def forget_with_ids(ids: Sequence[int]) -> int:
    if ids:
        run_together([tries_of().bound(ids=ids), themselves().bound(ids=ids)])
    return len(ids)


@built_once
def tries_of() -> Statement:
    return delete_from(WebhookTry.objects.filter(Among("delivery_id", GivenList("ids"))))


@built_once
def themselves() -> Statement:
    return delete_from(WebhookDelivery.objects.filter(Among("pk", GivenList("ids"))))
