"""Messages to webhooks in the admin: what was sent to whom, what was answered, and sending it again."""

import json
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import url_has_allowed_host_and_scheme

from jobs.admin.job_order import number
from jobs.admin.log import log
from jobs.admin.read_only import ReadOnlyAdmin
from jobs.lifecycle.send_again import send_again
from jobs.lifecycle.take_deliveries import body_for
from jobs.models import Job, WebhookDelivery
from jobs.selectors.clock import database_now
from jobs.selectors.deliveries import DeliveryFilter, delivery_page, get_delivery, host_of, hosts_left_alone
from jobs.states import DeliveryStatus


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(ReadOnlyAdmin):
    def get_urls(self) -> list[URLPattern]:
        act = path("act/", self.admin_site.admin_view(self.act_view), name="jobs_webhookdelivery_act")
        return [act, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        which = read_filter(request)
        page = delivery_page(which, number(request.GET.get("before")))
        context = self.page_context(
            request,
            "Webhook messages",
            deliveries=page.deliveries,
            older=page.older and query_of(which, before=page.older),
            newest=query_of(which) if request.GET.get("before") else None,
            which=which,
            chips=[(name, query_of(which, status=name)) for name in ("", *DeliveryStatus)],
            unfiltered=query_of(DeliveryFilter(status=which.status)),
            hosts=hosts_left_alone(),
            may_send=self.may_operate(request),
            now=database_now(),
        )
        return TemplateResponse(request, "jobs/admin/webhooks.html", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request) or request.method != "GET":
            raise PermissionDenied
        delivery = get_delivery(number(object_id) or 0)
        if delivery is None:
            raise Http404("There is no such message: it was deleted, or never written.")
        context = self.page_context(
            request,
            f"Webhook message {delivery.pk}",
            delivery=delivery,
            tries=list(delivery.history.all()),
            body=json.loads(body_for(delivery)),
            host=host_of(delivery),
            job_is_there=Job.objects.filter(pk=delivery.job_id).exists(),
            may_send=self.may_operate(request),
            now=database_now(),
        )
        return TemplateResponse(request, "jobs/admin/webhook.html", context)

    def act_view(self, request: HttpRequest) -> HttpResponse:
        """Send again."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not self.may_operate(request):
            raise PermissionDenied
        asked = {key for text in request.POST.getlist("_selected_action") if (key := number(text)) is not None}
        sent = send_again(asked)
        log(request, WebhookDelivery, ((key, f"webhook message {key}") for key in sent), "Sent again.")
        tell(request, len(sent), len(asked) - len(sent))
        return HttpResponseRedirect(self.way_back(request))

    def way_back(self, request: HttpRequest) -> str:
        wanted = request.POST.get("next", "")
        good = url_has_allowed_host_and_scheme(
            wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
        )
        return wanted if good else reverse("admin:jobs_webhookdelivery_changelist")


def read_filter(request: HttpRequest) -> DeliveryFilter:
    status = request.GET.get("status", "")
    return DeliveryFilter(
        status=status if status in list(DeliveryStatus) else "",
        host=request.GET.get("host", "").replace("\x00", ""),
        job_id=number(request.GET.get("job")),
    )


def query_of(which: DeliveryFilter, **more: Any) -> str:
    said = {"status": which.status, "host": which.host, "job": which.job_id, **more}
    return urlencode({name: value for name, value in said.items() if value})


def tell(request: HttpRequest, sent: int, left_alone: int) -> None:
    if sent:
        messages.success(request, f"{told(sent)} will be sent in a moment.")
    if left_alone:
        messages.warning(request, f"{told(left_alone)} left alone: being sent right now, or gone.")
    if not sent and not left_alone:
        messages.error(request, "Select at least one message first.")


def told(count: int) -> str:
    return "1 message" if count == 1 else f"{count:,} messages"
