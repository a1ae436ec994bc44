"""Workers in the admin: look, enable, disable, drain."""

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from jobs.admin.read_only import ReadOnlyAdmin
from jobs.lifecycle import workers
from jobs.models import Worker
from jobs.states import WorkerStatus


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    list_display = ("name", "status", "type", "hostname", "pid", "slots", "gpu", "last_heartbeat", "version")
    list_filter = ("status", "type")
    ordering = ("-registered_at",)
    actions = ("disable", "enable", "drain")

    @admin.action(description="Disable: claim nothing, hand running jobs back", permissions=["operate"])
    def disable(self, request: HttpRequest, chosen: QuerySet[Worker]) -> None:
        for worker in chosen:
            workers.disable(worker.pk, reason=f"by {request.user}")
        self.tell(request, "disabled", len(chosen))

    @admin.action(description="Enable again", permissions=["operate"])
    def enable(self, request: HttpRequest, chosen: QuerySet[Worker]) -> None:
        disabled = [worker for worker in chosen if worker.status == WorkerStatus.DISABLED]
        for worker in disabled:
            workers.enable(worker.pk)
        self.tell(request, "enabled", len(disabled))
        for worker in chosen:
            if worker not in disabled:
                self.message_user(request, f"Worker {worker} was left alone: it is not disabled.", messages.WARNING)

    @admin.action(description="Drain: finish, then exit", permissions=["operate"])
    def drain(self, request: HttpRequest, chosen: QuerySet[Worker]) -> None:
        for worker in chosen:
            workers.drain(worker.pk)
        self.tell(request, "asked to drain", len(chosen))

    def tell(self, request: HttpRequest, done: str, number: int) -> None:
        if number:
            self.message_user(request, f"{number} {'worker' if number == 1 else 'workers'} {done}.", messages.SUCCESS)
