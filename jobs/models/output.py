"""What a remote worker hands over for one attempt: a folder in the storage, and the files of it that have arrived.

A row is there from the first file until the job is completed, or until the files were removed as nobody's.
"""

from django.db import models
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from jobs.handlers.base import ClaimRef
from jobs.models.job import Job
from jobs.states import Status
from jobs.uploads.receiving import Arrived


class OutputQuerySet(models.QuerySet["Output"]):
    def of(self, claim: ClaimRef) -> "Output | None":
        return self.filter(job_id=claim.job_id, claim_id=claim.claim_id).first()

    def abandoned(self) -> "OutputQuerySet":
        """Those whose claim is gone: what it had is of no use to any other."""
        held = Job.objects.filter(pk=OuterRef("job_id"), claim_id=OuterRef("claim_id"), status=Status.RUNNING)
        return self.filter(~Exists(held))


class Output(models.Model):
    job_id = models.BigIntegerField()  # no constraint: jobs are cleared by their own rules
    claim_id = models.UUIDField()
    folder = models.CharField(max_length=500, help_text="Its name in the storage.")
    number = models.PositiveIntegerField(db_default=0, help_text="Of files that have arrived.")
    size = models.BigIntegerField(db_default=0, help_text="Of all of them, in bytes.")
    began_at = models.DateTimeField(db_default=Now())
    finalized_at = models.DateTimeField(null=True, blank=True, help_text="When all of it was there, and checked.")
    manifest = models.CharField(max_length=64, blank=True, default="", help_text="SHA-256 of what was finalized.")
    check_id = models.UUIDField(
        null=True, blank=True, help_text="Of the check that goes on: until it ends no file changes."
    )
    check_alive_at = models.DateTimeField(null=True, blank=True, help_text="When that check last said that it goes on.")

    objects = OutputQuerySet.as_manager()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job_id", "claim_id"], name="output_once_per_claim")]

    def __str__(self) -> str:
        return f"{self.folder} of job {self.job_id}"

    def arrived(self) -> list[Arrived]:
        return [Arrived(*row) for row in self.files.order_by("path").values_list("path", "size", "sha256")]

    def with_file(self, path: str, size: int) -> tuple[int, int]:
        """How many files it has with this one, and how many bytes. What has the same path goes, and does not count."""
        replaced = self.files.filter(path=path).values_list("size", flat=True).first()
        if replaced is None:
            return self.number + 1, self.size + size
        return self.number, self.size - replaced + size


class OutputFile(models.Model):
    output = models.ForeignKey(Output, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=300, help_text="Below the folder.")
    size = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["output", "path"], name="output_file_once")]

    def __str__(self) -> str:
        return self.path
