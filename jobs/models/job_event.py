"""An event: one line of history, written in the transaction that made it true."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from jobs.models.fields import choices_of
from jobs.states import EventName

UNATTACHED = Q(job_id=None) | Q(name=EventName.DELETED)


class JobEvent(models.Model):
    at = models.DateTimeField(db_default=Now())
    name = models.CharField(max_length=20, choices=choices_of(EventName))
    # A plain number: the event `deleted` outlives its job, and a bulk insert checks no foreign key.
    job_id = models.BigIntegerField(null=True, blank=True)
    queue = models.CharField(max_length=100, blank=True, default="")
    worker_id = models.UUIDField(null=True, blank=True)
    worker_name = models.CharField(max_length=200, blank=True, default="")
    claim_id = models.UUIDField(null=True, blank=True)
    attempt = models.SmallIntegerField(null=True, blank=True)
    outcome = models.CharField(
        max_length=10,
        blank=True,
        default="",
        help_text="Set when this event accepted the outcome of its claim: what the worker was answered.",
    )
    reason = models.TextField(blank=True, default="")

    class Meta:
        indexes = [
            models.Index(fields=["job_id", "id"], name="event_of_job", condition=Q(job_id__isnull=False)),
            # What belongs to no job any more: retention finds it here, without reading everyone's history.
            models.Index(fields=["at", "id"], name="event_unattached", condition=UNATTACHED),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.job_id or self.worker_name or self.queue}"
