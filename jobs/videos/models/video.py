"""A video: its source, the version that is published, and the job that makes the next one."""

from django.db import models
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Coalesce

from jobs.models import Job, JobQuerySet
from jobs.states import Hold, Status
from jobs.videos.states import VideoStatus

WITHOUT_JOB = "Its job was cleared before a version was published: transcode it again."


class VideoQuerySet(models.QuerySet["Video"]):
    def with_status(self) -> "VideoQuerySet":
        """Adds `status` and `error`, read from the job in the same statement, so that the two can never disagree."""
        unexplained = Q(version="") | Q(job__last_error__gt="")
        return self.annotate(
            status=Case(
                When(~Q(version=""), then=Value(VideoStatus.READY)),
                When(job__status=Status.RUNNING, then=Value(VideoStatus.PROCESSING)),
                When(job__hold=Hold.WAITING, then=Value(VideoStatus.PROCESSING)),  # others encode its parts
                When(job__status=Status.PENDING, then=Value(VideoStatus.PENDING)),
                default=Value(VideoStatus.FAILED),
                output_field=models.CharField(),
            ),
            error=Case(
                When(job__status=Status.COMPLETED, then=Value("")),
                When(unexplained, then=Coalesce(F("job__last_error"), Value(WITHOUT_JOB))),
                default=Value(""),
                output_field=models.TextField(),
            ),
        )


class Video(models.Model):
    title = models.CharField(max_length=200)
    slug = models.SlugField(max_length=80, unique=True, help_text="Its name in addresses: /videos/<slug>/.")
    source = models.CharField("stored as", max_length=300, help_text="The name of the uploaded file in the storage.")
    source_name = models.CharField(
        "file name", max_length=255, help_text="What the file was called where it came from."
    )
    source_size = models.BigIntegerField(help_text="Bytes.")
    source_sha256 = models.CharField(
        "SHA-256",
        max_length=64,
        blank=True,
        default="",
        help_text="The checksum of the source: the same content is added once.",
    )
    is_copy = models.BooleanField(
        default=False, help_text="Whether it was added although a video with the same content was there."
    )
    # No constraint: jobs are cleared and pruned by their own rules, and a video outlives its jobs.
    job = models.ForeignKey(
        Job, null=True, blank=True, db_constraint=False, on_delete=models.DO_NOTHING, related_name="+"
    )
    version = models.CharField(
        max_length=80, blank=True, default="", help_text="The folder of the published version; empty before the first."
    )
    previous_version = models.CharField(
        max_length=80,
        blank=True,
        default="",
        help_text="The folder of the version before: still served to those who are watching it.",
    )
    duration = models.FloatField(null=True, blank=True, help_text="Seconds, of the published version.")
    size = models.BigIntegerField(null=True, blank=True, help_text="Bytes on disk of the published version.")
    failed_qualities = models.JSONField(
        default=dict, blank=True, help_text="Qualities that the published version should have and lacks, and why."
    )
    created_at = models.DateTimeField("added at", auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True, help_text="When the published version became that.")

    objects = VideoQuerySet.as_manager()

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["source_sha256"], name="video_source")]
        constraints = [
            # Two that add the same content at once find out here that they are two.
            models.UniqueConstraint(
                fields=["source_sha256"],
                condition=Q(is_copy=False) & ~Q(source_sha256=""),
                name="video_once_per_content",
            )
        ]

    def __str__(self) -> str:
        return self.title

    def own_job(self) -> JobQuerySet:
        """Its job, if that was not cleared: none or one row."""
        return Job.objects.with_ids([self.job_id] if self.job_id else [])
