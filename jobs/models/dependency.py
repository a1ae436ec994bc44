"""A dependency: one job needs another one to end. The row outlives the job that is needed, and knows how it ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db import models
from django.db.models import Count, Q, Sum

from jobs.models.fields import choices_of
from jobs.models.job import Job
from jobs.states import TERMINAL, OnParentFailure, Status

GONE = "gone"  # how a job ended that was deleted by other hands than ours


@dataclass(frozen=True)
class Progress:
    """How far a group of jobs is: how many are in each status, and how much of the whole is done."""

    pending: int = 0
    running: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0
    percent: int = 0

    @property
    def total(self) -> int:
        return self.pending + self.running + self.ended

    @property
    def ended(self) -> int:
        return self.completed + self.failed + self.cancelled


class DependencyQuerySet(models.QuerySet["Dependency"]):
    def waited_for(self) -> "DependencyQuerySet":
        """All but those that are only noted: jobs that were spawned, while nobody waits for them."""
        return self.exclude(policy="")

    def unfinished(self) -> "DependencyQuerySet":
        return self.filter(ended="")

    def spawned(self) -> "DependencyQuerySet":
        """What jobs made themselves, while they ran."""
        return self.exclude(key="")

    def of(self, job_ids: Iterable[int]) -> "DependencyQuerySet":
        """What these jobs need."""
        return self.filter(job__in=list(job_ids))

    def broken(self) -> "DependencyQuerySet":
        """Those whose needed job did not come to the end that the policy wants."""
        return self.waited_for().exclude(policy=OnParentFailure.RUN).exclude(ended__in=["", Status.COMPLETED])

    def progress(self) -> Progress:
        """Of all jobs that are needed, those included that are deleted by now."""
        counted: Mapping[str, int] = dict(self.order_by().values_list("ended").annotate(Count("pk")))
        needed = Job.objects.filter(pk__in=self.unfinished().values("needs"))
        running = needed.filter(status=Status.RUNNING).aggregate(jobs=Count("pk"), percent=Sum("progress"))
        open_, total = counted.get("", 0), sum(counted.values())
        done = 100 * (total - open_) + (running["percent"] or 0)
        return Progress(
            pending=max(0, open_ - running["jobs"]),
            running=running["jobs"],
            completed=counted.get(Status.COMPLETED, 0),
            failed=counted.get(Status.FAILED, 0),
            cancelled=counted.get(Status.CANCELLED, 0) + counted.get(GONE, 0),
            percent=done // total if total else 100,
        )


class Dependency(models.Model):
    """Not enforced by the database: a job that is needed may be pruned while this still says how it ended."""

    job = models.ForeignKey(
        "jobs.Job", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="dependencies"
    )
    needs = models.ForeignKey(
        "jobs.Job", on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, related_name="dependents"
    )
    policy = models.CharField(
        max_length=10,
        choices=choices_of(OnParentFailure),
        blank=True,
        default="",
        help_text="What follows where the needed job does not complete; empty: nobody waits for it.",
    )
    key = models.CharField(max_length=200, blank=True, default="", help_text="Of a spawned job: its name.")
    ended = models.CharField(
        max_length=10,
        choices=[(status.value, status.value) for status in TERMINAL] + [(GONE, GONE)],
        blank=True,
        default="",
        help_text="How the needed job ended; empty: it has not.",
    )

    objects = DependencyQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "dependencies"
        constraints = [
            models.UniqueConstraint(fields=["job", "key"], name="dependency_one_per_key", condition=~Q(key="")),
        ]
        indexes = [
            models.Index(fields=["job", "needs"], name="dependency_job"),
            models.Index(fields=["needs"], name="dependency_needs"),
            models.Index(fields=["job"], name="dependency_unfinished", condition=Q(ended="")),
        ]

    def __str__(self) -> str:
        return f"job {self.job_id} needs job {self.needs_id}"
