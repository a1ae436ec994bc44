"""Periodic jobs in the admin: when each is due and what became of it; on, off, run now, edit, add, remove."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from jobs.admin.job_order import number
from jobs.admin.log import log
from jobs.admin.periodic_actions import ACTIONS, PeriodicAction
from jobs.admin.periodic_form import NewPeriodicForm, PeriodicForm, zones
from jobs.admin.read_only import ReadOnlyAdmin
from jobs.exceptions import InvalidInput, JobyardError, PeriodicJobNotFound
from jobs.lifecycle.periodic.edit import add, edit
from jobs.models import PeriodicJob
from jobs.selectors.clock import database_now
from jobs.selectors.periodic import ShownPeriodic, edits, get_periodic, latest_ticks, list_periodic, next_ticks

LIST = "admin:jobs_periodicjob_changelist"
PAGE = "admin:jobs_periodicjob_change"


@admin.register(PeriodicJob)
class PeriodicJobAdmin(ReadOnlyAdmin):
    def get_urls(self) -> list[URLPattern]:
        act = path("act/", self.admin_site.admin_view(self.act_view), name="jobs_periodicjob_act")
        return [act, *super().get_urls()]

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Django's own: to make new ones is more than to operate those there are."""
        return request.user.has_perm("jobs.add_periodicjob")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        shown = list_periodic()
        context = self.page_context(
            request,
            "Periodic jobs",
            rows=[(each, self.fitting(request, each)) for each in shown],
            may_add=self.has_add_permission(request),
            now=database_now(),
        )
        return TemplateResponse(request, "jobs/admin/periodic_list.html", context)

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = NewPeriodicForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                row = add(form.declaration())
            except InvalidInput as error:
                form.add_error(None, str(error))
            else:
                log(request, PeriodicJob, [(row.pk, row.name)], "Added.", ADDITION)
                messages.success(request, f"The periodic job {row} was added.")
                return HttpResponseRedirect(self.way_back(row))
        context = self.page_context(request, "Add a periodic job", form=form, zones=zones())
        return TemplateResponse(request, "jobs/admin/periodic_add.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The page of one, and, by POST, its form."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = PeriodicJob.objects.filter(pk=number(object_id) or 0).first()
        if row is None:
            raise Http404("There is no such periodic job.")
        if request.method == "POST":
            return self.edit_view(request, row)
        return self.show(request, row, PeriodicForm(initial=PeriodicForm.values_of(row)))

    def edit_view(self, request: HttpRequest, row: PeriodicJob) -> HttpResponse:
        if not self.may_operate(request):
            raise PermissionDenied
        form = PeriodicForm(request.POST)
        if form.is_valid():
            try:
                changed = edit(row.name, **form.terms())
            except InvalidInput as error:
                form.add_error(None, str(error))
            else:
                self.tell_edited(request, row, changed)
                return HttpResponseRedirect(self.way_back(row))
        return self.show(request, row, form)

    def tell_edited(self, request: HttpRequest, row: PeriodicJob, changed: list[str]) -> None:
        if not changed:
            messages.info(request, "Nothing was changed.")
            return
        words = ", ".join(changed)
        log(request, PeriodicJob, [(row.pk, row.name)], f"Edited: {words}.")
        messages.success(request, f"Saved: {words}.")

    def show(self, request: HttpRequest, row: PeriodicJob, form: PeriodicForm) -> HttpResponse:
        shown, now = get_periodic(row.name), database_now()
        context = self.page_context(
            request,
            f"Periodic job {row}",
            shown=shown,
            row=row,
            form=form,
            zones=zones(),
            actions=self.fitting(request, shown),
            next_ticks=next_ticks(row, now) if row.next_at else [],
            edits=edits(row),
            ticks=latest_ticks(row),
            now=now,
        )
        return TemplateResponse(request, "jobs/admin/periodic.html", context)

    def fitting(self, request: HttpRequest, shown: ShownPeriodic) -> list[PeriodicAction]:
        return [action for action in ACTIONS.values() if self.may(request, action) and action.fits(shown)]

    def may(self, request: HttpRequest, action: PeriodicAction) -> bool:
        return self.may_administer(request) if action.administers else self.may_operate(request)

    def act_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        action = ACTIONS.get(request.POST.get("action", ""))
        if action is None or not self.may(request, action):
            raise PermissionDenied
        try:
            shown = get_periodic(request.POST.get("name", ""))
            said = action.run(shown.row.name)
        except PeriodicJobNotFound as error:
            messages.error(request, str(error))
            return HttpResponseRedirect(reverse(LIST))
        except JobyardError as error:
            messages.warning(request, str(error))
        else:
            flag = DELETION if action.administers else CHANGE
            log(request, PeriodicJob, [(shown.row.pk, shown.row.name)], f"{said.capitalize()}.", flag)
            messages.success(request, f"{shown.row}: {said}.")
        to_page = "single" in request.POST and not action.administers
        return HttpResponseRedirect(self.way_back(shown.row) if to_page else reverse(LIST))

    def way_back(self, row: PeriodicJob) -> str:
        return reverse(PAGE, args=[row.pk])
