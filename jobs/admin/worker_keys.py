"""Remote workers in the admin: add one, give it another key, revoke its keys. A key is shown once, on the next page."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.models import ADDITION, CHANGE
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache

from jobs.admin.log import log
from jobs.admin.read_only import ReadOnlyAdmin
from jobs.exceptions import InvalidInput
from jobs.lifecycle.remote_workers import register
from jobs.lifecycle.worker_keys import revoke, rotate
from jobs.models import Worker, WorkerKey

OVERLAP = timedelta(days=1)  # how long the others go on when a key is replaced


class NewWorkerForm(forms.Form):
    name = forms.CharField(max_length=200, help_text="What people call it. One for each machine.")
    days = forms.IntegerField(
        min_value=1, max_value=3650, required=False, label="Valid for", help_text="Days; empty: until it is revoked."
    )

    @property
    def lifetime(self) -> timedelta | None:
        days = self.cleaned_data["days"]
        return timedelta(days=days) if days else None


class WorkerKeysMixin(ReadOnlyAdmin):
    """The views; `WorkerAdmin` has their addresses."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Django's own: to let machines in is more than to operate those there are."""
        return request.user.has_perm("jobs.add_worker")

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = NewWorkerForm(request.POST if request.method == "POST" else None)
        if request.method == "POST" and form.is_valid():
            try:
                worker, key, text = register(form.cleaned_data["name"], form.lifetime)
            except InvalidInput as error:
                form.add_error(None, str(error))
            else:
                return self.show_key(request, worker, key, text, ADDITION)
        context = self.page_context(request, "Add a remote worker", form=form)
        return TemplateResponse(request, "jobs/admin/worker_add.html", context)

    def keys_view(self, request: HttpRequest, worker: Worker) -> HttpResponse:
        """By POST: `rotate`, or `revoke` with the id of a key."""
        if request.POST.get("do") == "rotate":
            if not self.has_add_permission(request):
                raise PermissionDenied
            return self.show_key(request, worker, *rotate(worker, OVERLAP), CHANGE)
        if not self.may_operate(request):
            raise PermissionDenied
        prefix = request.POST.get("prefix", "").replace("\x00", "")
        for revoked in revoke(Q(worker=worker, prefix=prefix)):
            log(request, Worker, [(worker.pk, worker.name)], f"Revoked the key {revoked}.", CHANGE)
            messages.success(request, f"Key {revoked} of worker {worker} is revoked: its next call is refused.")
        return HttpResponseRedirect(reverse("admin:jobs_worker_change", args=[worker.pk]))

    def show_key(self, request: HttpRequest, worker: Worker, key: WorkerKey, text: str, flag: int) -> HttpResponse:
        """Not after a redirect: it would have to be kept somewhere."""
        log(request, Worker, [(worker.pk, worker.name)], f"Made the key {key.prefix}.", flag)
        site = request.build_absolute_uri("/")
        context = self.page_context(request, f"A key for {worker}", worker=worker, key=key, text=text, site=site)
        return never_cache(TemplateResponse)(request, "jobs/admin/worker_key.html", context)
