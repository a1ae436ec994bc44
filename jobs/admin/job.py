"""Jobs in the admin: a list that stays fast with millions, a page for each, and what can be done with them."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect, QueryDict
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme

from jobs.admin.job_actions import ACTIONS, Action, Done
from jobs.admin.job_filter import FilterForm
from jobs.admin.job_list import list_context
from jobs.admin.job_order import Order, carry_out, number, read_order, read_said
from jobs.admin.job_page import page_context
from jobs.admin.job_told import note, tell
from jobs.admin.log import by
from jobs.admin.read_only import ReadOnlyAdmin
from jobs.exceptions import InvalidInput, JobNotFound
from jobs.models import Job
from jobs.selectors.depth import queue_names
from jobs.selectors.jobs import get_job
from jobs.states import ShownState


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    def get_urls(self) -> list[URLPattern]:
        act = path("act/", self.admin_site.admin_view(self.act_view), name="jobs_job_act")
        return [act, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = FilterForm(request.GET)
        context = self.page_context(request, "Jobs", actions=self.allowed(request), **list_context(request, form))
        return TemplateResponse(request, "jobs/admin/job_list.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request) or request.method != "GET":
            raise PermissionDenied
        try:
            job: Any = get_job(number(object_id) or 0)
        except JobNotFound as error:
            raise Http404(str(error)) from None
        actions = [action for action in self.allowed(request) if action.fits(job.state)]
        may_send = request.user.has_perm("jobs.change_webhookdelivery")
        context = self.page_context(request, str(job), actions=actions, may_send=may_send, **page_context(job))
        return TemplateResponse(request, "jobs/admin/job.html", context)

    def allowed(self, request: HttpRequest) -> list[Action]:
        """What this user may do."""
        return [action for action in ACTIONS.values() if self.may(request, action)]

    def may(self, request: HttpRequest, action: Action) -> bool:
        return self.may_administer(request) if action.administers else self.may_operate(request)

    def act_view(self, request: HttpRequest) -> HttpResponse:
        """Every change of a job begins here: asked about first, unless the form says that it was."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not (self.may_operate(request) or self.may_administer(request)):
            raise PermissionDenied
        try:
            order = read_order(request.POST)
            if not self.may(request, order.action):
                raise PermissionDenied
            return self.carry_out(request, order) if "confirmed" in request.POST else self.ask(request, order)
        except InvalidInput as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(self.way_back(request))

    def carry_out(self, request: HttpRequest, order: Order) -> HttpResponse:
        try:
            said = read_said(request.POST, order, by(request))
        except InvalidInput as error:
            return self.ask(request, order, str(error))
        result = Done()
        try:
            reached = carry_out(order, said, result)
        finally:
            note(request, order, result)  # batches that were done stay done, even if a later one fails
        tell(request, result)
        if reached is None:
            return HttpResponseRedirect(self.way_back(request))
        messages.info(request, "That took a while, so the rest is asked about again.")
        return self.ask(request, Order(order.action, order.ids, order.form, reached, order.upto))

    def ask(self, request: HttpRequest, order: Order, error: str = "") -> HttpResponse:
        states = order.states()
        context = self.page_context(
            request,
            f"{order.action.verb}: are you sure?",
            order=order,
            states=sorted(states.items(), key=lambda item: list(ShownState).index(ShownState(item[0]))),
            number=states.total(),
            fitting=sum(count for state, count in states.items() if order.action.fits(state)),
            error=error,
            sent=request.POST,
            queues=queue_names() if order.action.asks_for == "queue" else (),
            next=self.way_back(request),
        )
        return TemplateResponse(request, "jobs/admin/confirm.html", context)

    def way_back(self, request: HttpRequest) -> str:
        """Where the operator came from, if that is a page of this site; else the list."""
        wanted = request.POST.get("next", "")
        if url_has_allowed_host_and_scheme(
            wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        ):
            return wanted
        query = QueryDict(request.POST.get("which", "")).urlencode()
        return reverse("admin:jobs_job_changelist") + (f"?{query}" if query else "")
