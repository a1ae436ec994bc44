"""Jobs in the admin: look, retry, requeue, cancel, clear."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin.read_only import ReadOnlyAdmin, ReadOnlyInline
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.retry import requeue, retry
from jobs.models import Job, JobQuerySet, PhaseProgress, QualityProgress
from jobs.states import TERMINAL


class PhaseInline(ReadOnlyInline):
    model = PhaseProgress
    fields = ("position", "name", "shown_status", "progress", "started_at", "finished_at", "error")
    readonly_fields = fields


class QualityInline(ReadOnlyInline):
    model = QualityProgress
    fields = (
        "name",
        "status",
        "progress",
        "segments_completed",
        "segments_total",
        "started_at",
        "finished_at",
        "error",
    )
    readonly_fields = fields


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    list_display = ("id", "kind", "queue", "subject", "state", "progress", "attempts", "last_worker_name", "error")
    list_filter = ("status", "queue", "kind")
    search_fields = ("subject", "dedupe_key")
    ordering = ("-id",)
    show_full_result_count = False
    inlines = (PhaseInline, QualityInline)
    actions = ("retry", "requeue", "cancel", "clear")

    def get_queryset(self, request: HttpRequest) -> JobQuerySet:
        return Job.objects.with_state()

    @admin.display(description="state")
    def state(self, job: Job) -> str:
        return str(job.state)  # type: ignore[attr-defined]  # annotated by with_state()

    @admin.display(description="attempt")
    def attempts(self, job: Job) -> str:
        return f"{job.attempt} of {job.max_attempts}"

    @admin.display(description="error")
    def error(self, job: Job) -> str:
        return job.last_error.split("\n", 1)[0][:100]

    @admin.action(description="Retry (keeps finished phases and qualities)", permissions=["operate"])
    def retry(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        result = retry(selected(jobs))
        self.tell(request, "retried", len(result.moved), result.skipped)

    @admin.action(description="Requeue from the start", permissions=["operate"])
    def requeue(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        result = requeue(selected(jobs))
        self.tell(request, "requeued", len(result.moved), result.skipped)

    @admin.action(description="Cancel", permissions=["operate"])
    def cancel(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        result = cancel(selected(jobs), reason=f"by {request.user}")
        skipped = dict.fromkeys(result.skipped, "it has ended, or was asked to stop before")
        self.tell(request, "cancelled", len(result.cancelled), skipped)
        if result.requested:
            asked = "1 running job was" if len(result.requested) == 1 else f"{len(result.requested)} running jobs were"
            self.message_user(request, f"{asked} asked to stop.")

    @admin.action(description="Clear (delete ended jobs)", permissions=["operate"])
    def clear(self, request: HttpRequest, jobs: QuerySet[Job]) -> None:
        ids = selected(jobs)
        cleared = clear(ids)
        skipped = dict.fromkeys(set(ids) - set(cleared), f"it is not {', '.join(TERMINAL)}")
        self.tell(request, "cleared", len(cleared), skipped)

    def tell(self, request: HttpRequest, done: str, number: int, skipped: dict[int, str]) -> None:
        if number:
            self.message_user(request, f"{number} {'job' if number == 1 else 'jobs'} {done}.", messages.SUCCESS)
        for job_id, reason in list(skipped.items())[:10]:
            self.message_user(request, f"Job {job_id} was left alone: {reason}.", messages.WARNING)
        if len(skipped) > 10:
            self.message_user(request, f"… and {len(skipped) - 10} more.", messages.WARNING)


def selected(jobs: QuerySet[Job]) -> list[int]:
    return list(jobs.values_list("pk", flat=True))
