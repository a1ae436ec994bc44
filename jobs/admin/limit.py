"""Limits in the admin: what they say, how full they are, and a form to set one."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from jobs.admin.log import by, log
from jobs.admin.read_only import ReadOnlyAdmin
from jobs.exceptions import InvalidInput, LimitNotFound
from jobs.lifecycle.set_limit import Rules, lift_limit, parse_rate, pause, resume, set_limit, told
from jobs.models import Limit
from jobs.selectors.clock import database_now
from jobs.selectors.limits import COLUMN, limit_states
from jobs.states import LimitTarget

PAGE = "admin:jobs_limit_changelist"


class LimitForm(forms.Form):
    target = forms.ChoiceField(label="Of", choices=[(target.value, target.value) for target in LimitTarget])
    name = forms.CharField(label="Name", max_length=200, help_text="A key may end in *: each such key on its own.")
    max_running = forms.IntegerField(label="At most at once", required=False, min_value=1, max_value=1_000_000)
    rate = forms.CharField(label="Starts", required=False, help_text="As in 100/m, 5/10s, 1000/d.")
    window = forms.CharField(label="Only from – to", required=False, max_length=11, help_text="As in 22:00-06:00.")
    time_zone = forms.CharField(label="Time zone", required=False, max_length=64)

    def rules(self) -> Rules:
        said = self.cleaned_data
        jobs, seconds = parse_rate(said["rate"]) if said["rate"] else (None, None)
        return Rules(said["max_running"], jobs, seconds, said["window"], said["time_zone"])


@admin.register(Limit)
class LimitAdmin(ReadOnlyAdmin):
    def get_urls(self) -> list[URLPattern]:
        act = path("act/", self.admin_site.admin_view(self.act_view), name="jobs_limit_act")
        return [act, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self.show(request, LimitForm())

    def show(self, request: HttpRequest, form: LimitForm) -> HttpResponse:
        rows = [(state, told(state.limit), jobs_of(state.limit)) for state in limit_states()]
        context = self.page_context(request, "Limits", rows=rows, form=form, now=database_now())
        return TemplateResponse(request, "jobs/admin/limits.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The admin's log leads here."""
        return HttpResponseRedirect(reverse(PAGE))

    def act_view(self, request: HttpRequest) -> HttpResponse:
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.may_operate(request):
            raise PermissionDenied
        if request.POST.get("action") == "set":
            return self.set(request)
        verb = VERBS.get(request.POST.get("action", ""))
        target, name = request.POST.get("target", ""), request.POST.get("name", "")
        try:
            if verb:
                self.tell(request, target, name, verb(target, name, reason_of(request)))
        except (InvalidInput, LimitNotFound) as error:
            messages.error(request, str(error))
        return HttpResponseRedirect(reverse(PAGE))

    def set(self, request: HttpRequest) -> HttpResponse:
        form = LimitForm(request.POST)
        if form.is_valid():
            target, name = form.cleaned_data["target"], form.cleaned_data["name"]
            try:
                limit = set_limit(target, name, form.rules(), by(request))
            except InvalidInput as error:
                form.add_error(None, str(error))
            else:
                self.tell(request, target, name, f"limited: {told(limit)}")
                return HttpResponseRedirect(reverse(PAGE))
        return self.show(request, form)

    def tell(self, request: HttpRequest, target: str, name: str, word: str) -> None:
        log(request, Limit, [(None, f"{target} {name}")], f"{word.capitalize()}.")
        messages.success(request, f"{target.capitalize()} {name} {word}.")


def reason_of(request: HttpRequest) -> str:
    reason = request.POST.get("reason", "").strip()
    return f"{reason}, {by(request)}" if reason else by(request)


def paused(target: str, name: str, reason: str) -> str:
    return "paused" if pause(target, name, reason) else "was paused already"


def resumed(target: str, name: str, reason: str) -> str:
    return "resumed" if resume(target, name, reason) else "was not paused"


def lifted(target: str, name: str, reason: str) -> str:
    lift_limit(target, name, reason)
    return "is no longer limited"


VERBS: dict[str, Callable[[str, str, str], str]] = {"pause": paused, "resume": resumed, "lift": lifted}


def jobs_of(limit: Limit) -> str:
    """Where the jobs it is about are listed; the list has no filter for keys."""
    column = COLUMN[LimitTarget(limit.target)]
    query = urlencode({column: limit.name}) if limit.target != LimitTarget.KEY else ""
    return f"{reverse('admin:jobs_job_changelist')}?{query}" if query else ""
