"""A tally: how many jobs something happened to, minute by minute, and how long it took them.

Rates and percentiles are read from here. It stays when the jobs are pruned.
"""

from django.db import models

from jobs.durations import NOT_TIMED
from jobs.models.fields import choices_of
from jobs.states import EventName


class Tallied(models.Model):
    queue = models.CharField(max_length=100)
    kind = models.CharField(max_length=100)
    event = models.CharField(max_length=20, choices=choices_of(EventName))
    duration_class = models.SmallIntegerField(default=NOT_TIMED, help_text="See jobs/durations.py; −1 = not timed.")
    jobs = models.BigIntegerField(default=0)
    seconds = models.FloatField(default=0, help_text="How long they waited (claimed), or ran (all that ends a run).")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.queue} {self.kind} {self.event}: {self.jobs}"


class MinuteTally(Tallied):
    minute = models.IntegerField(help_text="Minutes since the beginning of 1970, by the database's clock.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["minute", "queue", "kind", "event", "duration_class"], name="tally_once_per_minute"
            )
        ]


class TotalTally(Tallied):
    """Since the first job ever: what counters of a monitoring system want, which must never go down."""

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["queue", "kind", "event", "duration_class"], name="tally_once_in_total")
        ]
