"""Queues in the admin: how deep each one is, and what to do about it in one click."""

from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from jobs.admin.log import by, log
from jobs.admin.read_only import ReadOnlyAdmin
from jobs.exceptions import InvalidInput
from jobs.lifecycle.queues import pause, resume
from jobs.models import Queue
from jobs.selectors.clock import database_now
from jobs.selectors.depth import queue_depths
from jobs.selectors.throughput import RATE_OVER, Activity, activity_by_queue
from jobs.states import Bucket


@admin.register(Queue)
class QueueAdmin(ReadOnlyAdmin):
    """Replaces the list of rows: a queue exists as soon as a job names it, row or not."""

    def get_urls(self) -> list[URLPattern]:
        act = path("act/", self.admin_site.admin_view(self.act_view), name="jobs_queue_act")
        return [act, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        depths, rates = queue_depths(), activity_by_queue()
        context = self.page_context(
            request,
            "Queues",
            queues=depths.queues,
            rates={name: rates.get(name, Activity(RATE_OVER)) for name in depths.queues},
            paused=Queue.objects.in_bulk(list(depths.paused)),
            total=depths.total,
            buckets=list(Bucket),
            now=database_now(),
            may_operate_jobs=request.user.has_perm("jobs.change_job"),
            may_clear_jobs=request.user.has_perm("jobs.delete_job"),
        )
        return TemplateResponse(request, "jobs/admin/queues.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """A queue is its jobs; the admin's log leads here."""
        if not self.has_view_permission(request) or request.method != "GET":
            raise PermissionDenied
        query = urlencode({"queue": unquote(object_id)})
        return HttpResponseRedirect(f"{reverse('admin:jobs_job_changelist')}?{query}")

    def act_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.may_operate(request):
            raise PermissionDenied
        name, reason = request.POST.get("queue", ""), request.POST.get("reason", "").strip()
        try:
            if request.POST.get("action") == "pause":
                why = f"{reason}, {by(request)}" if reason else by(request)
                self.tell(request, name, partial(pause, name, why), "paused")
            elif request.POST.get("action") == "resume":
                self.tell(request, name, partial(resume, name, by(request)), "resumed")
        except InvalidInput as error:
            messages.error(request, str(error))
        return HttpResponseRedirect(reverse("admin:jobs_queue_changelist"))

    def tell(self, request: HttpRequest, name: str, verb: Callable[[], bool], word: str) -> None:
        if verb():
            log(request, Queue, [(name, name)], f"{word.capitalize()}.")
            messages.success(request, f"Queue {name} {word}.")
        else:
            messages.warning(request, f"Queue {name} was left alone: it is {word} already.")
