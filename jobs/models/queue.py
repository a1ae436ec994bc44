"""A queue by name, and how many jobs of each bucket it holds.

A count is the total plus the deltas not yet folded into it. Every transition inserts its deltas in its own
transaction: inserts wait for nobody, where updating one counter row would make all enqueues queue up.
"""

from django.db import models
from django.db.models.functions import Now

from jobs.durations import NOT_TIMED
from jobs.models.fields import choices_of
from jobs.states import Bucket, EventName


class Queue(models.Model):
    """Only queues that somebody has set something for have a row."""

    name = models.CharField(max_length=100, primary_key=True)
    paused = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True, default="")

    def __str__(self) -> str:
        return self.name


class QueueTotal(models.Model):
    queue = models.CharField(max_length=100)
    bucket = models.CharField(max_length=10, choices=choices_of(Bucket))
    jobs = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["queue", "bucket"], name="total_once_per_bucket")]

    def __str__(self) -> str:
        return f"{self.queue} {self.bucket}: {self.jobs}"


class QueueDelta(models.Model):
    """A change of a count (it has a bucket), or something that happened to jobs (it has an event), or both.

    They are in one table, so that a transition writes them by one statement.
    """

    queue = models.CharField(max_length=100)
    bucket = models.CharField(max_length=10, choices=choices_of(Bucket), blank=True, default="")
    jobs = models.BigIntegerField()
    at = models.DateTimeField(db_default=Now())
    kind = models.CharField(max_length=100, blank=True, default="")
    event = models.CharField(max_length=20, choices=choices_of(EventName), blank=True, default="")
    duration_class = models.SmallIntegerField(default=NOT_TIMED)
    seconds = models.FloatField(default=0)

    def __str__(self) -> str:
        return f"{self.queue} {self.bucket or self.event}: {self.jobs:+}"
