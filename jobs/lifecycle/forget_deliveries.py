"""Forget deliveries: messages are deleted with the history of their tries, without bringing what they say here."""

from django.db.models import QuerySet

from jobs.models import WebhookDelivery, WebhookTry


def forget(messages: QuerySet[WebhookDelivery]) -> int:
    ids = list(messages.values_list("pk", flat=True))
    if ids:
        WebhookTry.objects.filter(delivery__in=ids).delete()
        WebhookDelivery.objects.filter(pk__in=ids)._raw_delete(WebhookDelivery.objects.db)
    return len(ids)
