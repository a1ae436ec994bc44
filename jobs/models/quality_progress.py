"""A quality: one rendition of a job's output (1080p, 720p …) with its own status, segments and progress."""

from django.db import models
from django.db.models import F, Q

from jobs.models.fields import choices_of, percent_between_0_and_100
from jobs.models.job import Job
from jobs.states import QualityStatus


class QualityProgress(models.Model):
    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="qualities")
    name = models.CharField(max_length=50)
    status = models.CharField(max_length=12, choices=choices_of(QualityStatus), default=QualityStatus.PENDING)
    segments_total = models.PositiveIntegerField(null=True, blank=True)
    segments_completed = models.PositiveIntegerField(default=0)
    progress = models.PositiveSmallIntegerField(default=0)
    details = models.JSONField(default=dict, blank=True, help_text="Encoder, size and the like.")
    error = models.TextField(blank=True, default="")
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["job", "id"]
        verbose_name_plural = "quality progress"
        constraints = [
            percent_between_0_and_100("progress", "quality_progress_0_100"),
            models.UniqueConstraint(fields=["job", "name"], name="quality_once_per_job"),
            models.CheckConstraint(name="quality_status_known", condition=Q(status__in=list(QualityStatus))),
            models.CheckConstraint(
                name="quality_segments_fit",
                condition=Q(segments_total=None) | Q(segments_completed__lte=F("segments_total")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} of job {self.job_id}"
