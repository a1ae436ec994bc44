"""Alerts: what people are told of, kept here so that many processes send one, and none is lost with its sender."""

from django.db import models
from django.db.models import Q

from jobs.models.fields import choices_of
from jobs.states import AlertName


class Alert(models.Model):
    """One for each thing that something can be wrong with. It is sent, then quiet for a while, then sent again."""

    name = models.CharField(max_length=40, choices=choices_of(AlertName))
    key = models.CharField(max_length=200, blank=True, default="", help_text="What it is about: a queue, a worker …")
    text = models.TextField()
    advice = models.TextField(blank=True, default="")
    grave = models.BooleanField(default=False)
    details = models.JSONField(default=dict, blank=True)
    raised_at = models.DateTimeField()
    suppressed = models.PositiveIntegerField(default=0, help_text="Raised since the last one that was sent.")
    quiet_until = models.DateTimeField(null=True, blank=True)

    channels = models.JSONField(default=list, blank=True, help_text="Who has still to be told.")
    due_at = models.DateTimeField(null=True, blank=True, help_text="When to send it; empty: nothing to send.")
    tries = models.PositiveSmallIntegerField(default=0)
    sent_at = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True, default="", help_text="Why the last try did not work.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "key"], name="alert_one_per_key")]
        indexes = [models.Index(fields=["due_at"], name="alert_due", condition=Q(due_at__isnull=False))]

    def __str__(self) -> str:
        return f"{self.name} {self.key}".strip()


class AlertTotal(models.Model):
    """Since the first one ever: counters of a monitoring system must never go down."""

    name = models.CharField(max_length=40, primary_key=True, choices=choices_of(AlertName))
    raised = models.BigIntegerField(default=0)
    sent = models.BigIntegerField(default=0)
    suppressed = models.BigIntegerField(default=0)
    given_up = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return self.name


class AlertReading(models.Model):
    """How far the events have been judged."""

    name = models.CharField(max_length=20, primary_key=True)
    position = models.BigIntegerField(help_text="The last event that was judged.")
    waiting = models.JSONField(
        default=list, blank=True, help_text="Which events may follow once which transactions end."
    )

    def __str__(self) -> str:
        return f"{self.name} up to {self.position}"
