"""A periodic job: what is enqueued again and again, and what became of its ticks. Only `jobs.lifecycle` writes them."""

from django.db import models
from django.db.models import Q

from jobs.handlers.periodic import TERMS, Declaration
from jobs.handlers.schedules import Schedule, parse_schedule
from jobs.models.fields import choices_of
from jobs.states import CatchUp, TickOutcome


class PeriodicJobQuerySet(models.QuerySet["PeriodicJob"]):
    def ticking(self) -> "PeriodicJobQuerySet":
        """Those that are due now or later."""
        return self.filter(next_at__isnull=False)


class PeriodicJob(models.Model):
    # What it is; a column of these that nobody edited is as the code declares it
    name = models.CharField(max_length=100, unique=True, help_text="What people call it.")
    kind = models.CharField(max_length=100, help_text="The kind of job that is enqueued.")
    schedule = models.CharField(max_length=200, help_text="Five fields of cron, @daily and the like, or every 15m.")
    timezone = models.CharField(max_length=100, blank=True, default="", help_text="Empty: the project's TIME_ZONE.")
    payload = models.JSONField(default=dict, blank=True, help_text="What each job is given: a JSON object.")
    queue = models.CharField(max_length=100, blank=True, default="", help_text="Empty: the kind's.")
    priority = models.SmallIntegerField(default=0, help_text="−100 … 100; higher goes first.")
    catch_up = models.CharField(
        max_length=4,
        choices=choices_of(CatchUp),
        blank=True,
        default="",
        help_text="Which missed ticks are made up for; empty: JOBS_PERIODIC_CATCH_UP.",
    )
    overlap = models.BooleanField(default=True, help_text="Whether a job may begin while an earlier one has not ended.")
    enabled = models.BooleanField(default=True)

    # Where it comes from
    declared = models.JSONField(null=True, blank=True, help_text="What the code says; empty: made by hand.")
    edited = models.JSONField(default=list, blank=True, help_text="Names of what an operator has set otherwise.")
    gone_at = models.DateTimeField(null=True, blank=True, help_text="Since when the code declares it no more.")

    # When it ran, and will
    next_at = models.DateTimeField(null=True, blank=True, help_text="The next tick; empty: there will be none.")
    last_at = models.DateTimeField(null=True, blank=True, help_text="The last tick that became a job.")
    last_job_id = models.BigIntegerField(null=True, blank=True)
    problem = models.TextField(blank=True, default="", help_text="Why its last tick could not become a job.")

    objects = PeriodicJobQuerySet.as_manager()

    class Meta:
        verbose_name = "periodic job"
        constraints = [
            models.CheckConstraint(
                name="periodic_ticks_only_when_on",
                condition=Q(next_at=None) | Q(enabled=True, gone_at=None),
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def when(self) -> Schedule:
        return parse_schedule(self.schedule, self.timezone)

    def as_declaration(self) -> Declaration:
        """As it stands, edits included."""
        return Declaration(self.name, self.kind, **{term: getattr(self, term) for term in TERMS})


class PeriodicTick(models.Model):
    """What became of one tick: one row, however many workers saw it. The latest are kept."""

    periodic = models.ForeignKey(PeriodicJob, on_delete=models.CASCADE, related_name="ticks", db_index=False)
    tick_at = models.DateTimeField(help_text="When it was due; by hand: when it was asked for.")
    outcome = models.CharField(max_length=10, choices=choices_of(TickOutcome))
    job_id = models.BigIntegerField(null=True, blank=True)
    reason = models.TextField(blank=True, default="")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["periodic", "tick_at"], name="tick_once")]

    def __str__(self) -> str:
        return f"{self.periodic_id} at {self.tick_at:%Y-%m-%d %H:%M:%S}"
