"""Queues in the admin: how deep each one is, at the top of Jobyard's pages."""

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from jobs.admin.read_only import ReadOnlyAdmin
from jobs.models import Queue
from jobs.selectors.depth import queue_depths


@admin.register(Queue)
class QueueAdmin(ReadOnlyAdmin):
    """Replaces the list of rows: a queue exists as soon as a job names it, row or not."""

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, object] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        depths = queue_depths()
        context = {
            **self.admin_site.each_context(request),
            "title": "Queues",
            "opts": self.model._meta,
            "queues": depths.queues,
            "paused": depths.paused,
            "total": depths.total,
        }
        return TemplateResponse(request, "jobs/admin/queues.html", context)
