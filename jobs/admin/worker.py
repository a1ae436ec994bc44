"""Workers in the admin: who is there and what each of them has; enable, disable, drain, remove; keys of remote ones."""

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, DELETION
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from jobs.admin.log import by, log
from jobs.admin.worker_actions import ACTIONS, WorkerAction
from jobs.admin.worker_keys import WorkerKeysMixin
from jobs.exceptions import JobyardError
from jobs.models import Worker
from jobs.selectors.clock import database_now
from jobs.selectors.worker_keys import list_keys
from jobs.selectors.worker_list import events_of_worker, jobs_of_workers, latest_workers
from jobs.states import WorkerStatus, WorkerType

JOBS_SHOWN = 5


@admin.register(Worker)
class WorkerAdmin(WorkerKeysMixin):
    def get_urls(self) -> list[URLPattern]:
        act = path("act/", self.admin_site.admin_view(self.act_view), name="jobs_worker_act")
        return [act, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        status = request.GET.get("status", "")
        workers = latest_workers([status] if status in list(WorkerStatus) else [])
        held = jobs_of_workers([worker.pk for worker in workers])
        context = self.page_context(
            request,
            "Workers",
            rows=[(worker, held[worker.pk][:JOBS_SHOWN]) for worker in workers],
            actions=self.allowed(request),
            may_add=self.has_add_permission(request),
            statuses=list(WorkerStatus),
            status=status,
            now=database_now(),
        )
        return TemplateResponse(request, "jobs/admin/workers.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        worker = next(iter(chosen([object_id])), None)
        if not self.has_view_permission(request):
            raise PermissionDenied
        if worker is None:
            raise Http404("There is no such worker.")
        if request.method == "POST" and worker.type == WorkerType.REMOTE:
            return self.keys_view(request, worker)
        if request.method != "GET":
            raise PermissionDenied
        context = self.page_context(
            request,
            f"Worker {worker}",
            worker=worker,
            held=jobs_of_workers([worker.pk])[worker.pk],
            events=events_of_worker(worker),
            keys=list_keys(worker.pk, all_of_them=True),
            may_add=self.has_add_permission(request),
            actions=[action for action in self.allowed(request) if action.fits(worker)],
            now=database_now(),
        )
        return TemplateResponse(request, "jobs/admin/worker.html", context)

    def allowed(self, request: HttpRequest) -> list[WorkerAction]:
        return [action for action in ACTIONS.values() if self.may(request, action)]

    def may(self, request: HttpRequest, action: WorkerAction) -> bool:
        return self.may_administer(request) if action.administers else self.may_operate(request)

    def act_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        action = ACTIONS.get(request.POST.get("action", ""))
        if action is None or not self.may(request, action):
            raise PermissionDenied
        workers = chosen(request.POST.getlist("_selected_action"))
        if not workers:
            messages.error(request, "Select at least one worker first.")
        for worker in workers:
            self.act(request, action, worker)
        if workers and "single" in request.POST and not action.administers:
            return HttpResponseRedirect(reverse("admin:jobs_worker_change", args=[workers[0].pk]))
        return HttpResponseRedirect(reverse("admin:jobs_worker_changelist"))

    def act(self, request: HttpRequest, action: WorkerAction, worker: Worker) -> None:
        if not action.fits(worker):
            messages.warning(request, f"Worker {worker} was left alone: {action.otherwise}.")
            return
        try:
            action.run(worker.pk, by(request))
        except JobyardError as error:  # it changed meanwhile
            messages.warning(request, str(error))
            return
        flag = DELETION if action.administers else CHANGE
        log(request, Worker, [(worker.pk, worker.name)], f"{action.done.capitalize()}.", flag)
        messages.success(request, f"Worker {worker} was {action.done}.")


def chosen(ids: list[str]) -> list[Worker]:
    """What a form or an address names; what is no id names nobody."""
    known = []
    for text in ids:
        try:
            known.append(UUID(text))
        except ValueError:
            continue
    return list(Worker.objects.filter(pk__in=known).order_by("name", "pk"))
