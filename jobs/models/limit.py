"""A limit: how many jobs of a queue, kind, scope or key may run at once or start per period, and when."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now as StatementNow

from jobs.models.fields import choices_of
from jobs.states import LimitTarget

EACH = "*"


class LimitQuerySet(models.QuerySet["Limit"]):
    def opening(self) -> "LimitQuerySet":
        """Those that were closed for a while which is over: what waits for them can go on."""
        return self.filter(opens_at__lte=StatementNow())


class Limit(models.Model):
    target = models.CharField(max_length=10, choices=choices_of(LimitTarget))
    name = models.CharField(
        max_length=200,
        help_text="Of the queue, kind or scope, or the key; a key may end in *: then it means each such key.",
    )
    max_running = models.PositiveIntegerField(null=True, blank=True, help_text="At most so many run at once.")
    rate_jobs = models.PositiveIntegerField(null=True, blank=True, help_text="At most so many start …")
    rate_seconds = models.FloatField(null=True, blank=True, help_text="… in any so many seconds.")
    window = models.CharField(max_length=11, blank=True, default="", help_text="Only then, as in 22:00-06:00.")
    time_zone = models.CharField(
        max_length=64, blank=True, default="", help_text="Of the window; empty: the project's."
    )
    paused = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    reason = models.CharField(max_length=500, blank=True, default="")

    # What happened to it
    starts = models.JSONField(default=list, blank=True, help_text="How many jobs started when, within the period.")
    opens_at = models.DateTimeField(null=True, blank=True, help_text="Nothing starts before; empty: no such time.")

    objects = LimitQuerySet.as_manager()

    class Meta:
        ordering = ["target", "name"]
        constraints = [
            models.UniqueConstraint(fields=["target", "name"], name="limit_once_per_name"),
            models.CheckConstraint(
                name="limit_rate_has_both",
                # Said in so many words: to compare with nothing is neither true nor false, and a check lets that pass.
                condition=Q(rate_jobs=None, rate_seconds=None)
                | Q(rate_jobs__isnull=False, rate_jobs__gte=1, rate_seconds__isnull=False, rate_seconds__gt=0),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.target} {self.name}"

    @property
    def is_of_each(self) -> bool:
        """Whether it is about many keys, each on its own."""
        return self.target == LimitTarget.KEY and self.name.endswith(EACH)

    def covers(self, key: str) -> bool:
        return key.startswith(self.name[:-1]) if self.is_of_each else key == self.name
