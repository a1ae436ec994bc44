"""A phase of a job's handler: its progress, and the result that later phases read."""

from django.db import models
from django.db.models import Q

from jobs.models.fields import choices_of, percent_between_0_and_100
from jobs.models.job import Job
from jobs.states import PHASE_INTERRUPTED, PhaseStatus, Status


class PhaseProgress(models.Model):
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="phases")
    position = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=100)
    weight = models.FloatField(default=1)
    status = models.CharField(max_length=10, choices=choices_of(PhaseStatus), default=PhaseStatus.PENDING)
    progress = models.PositiveSmallIntegerField(default=0)
    attempt = models.PositiveSmallIntegerField(default=0, help_text="The attempt that last worked on it.")
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True, default="")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["job", "position"]
        verbose_name_plural = "phase progress"
        constraints = [
            percent_between_0_and_100("progress", "phase_progress_0_100"),
            models.UniqueConstraint(fields=["job", "name"], name="phase_once_per_job"),
            models.CheckConstraint(name="phase_status_known", condition=Q(status__in=list(PhaseStatus))),
            models.CheckConstraint(name="phase_weight_positive", condition=Q(weight__gt=0)),
        ]

    def __str__(self) -> str:
        return f"{self.name} of job {self.job_id}"

    @property
    def shown_status(self) -> str:
        """A phase that says running while its attempt is over was cut off by a crash."""
        over = self.job.status != Status.RUNNING or self.attempt != self.job.attempt
        return PHASE_INTERRUPTED if self.status == PhaseStatus.RUNNING and over else self.status
