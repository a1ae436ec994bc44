"""The dashboard: the whole queue on one page, and the same in short on the admin's first page."""

from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.forms import Media
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import path, reverse
from django.views.decorators.cache import never_cache

from jobs.admin.charts import Chart, chart
from jobs.models import Worker
from jobs.selectors.concerns import Concern
from jobs.selectors.overview import Overview, overview, running_jobs
from jobs.selectors.throughput import DAY, HOUR, Activity, history
from jobs.selectors.worker_list import jobs_of_workers, latest_workers
from jobs.states import LIVE_WORKER, Bucket

MOST_RUNNING, MOST_WORKERS = 20, 24
MEDIA = Media(
    css={"all": ["jobs/admin.css", "jobs/dashboard.css"]}, js=["jobs/admin.js", "jobs/live.js", "jobs/dashboard.js"]
)


@dataclass(frozen=True)
class QueueRow:
    name: str
    depth: Any
    paused: bool
    rate: Activity


@dataclass(frozen=True)
class Span:
    """One column of the figures."""

    title: str
    activity: Activity


@never_cache
def dashboard(request: HttpRequest) -> HttpResponse:
    """The page, or with `?part` what changes in it."""
    if not may_see(request.user):
        raise PermissionDenied
    context = {**context_of(request), "charts": charts(), "workers": worker_cards()}
    if "part" in request.GET:
        return TemplateResponse(request, "jobs/admin/dashboard_parts.html", context)
    page = {**admin.site.each_context(request), "title": "Dashboard", "media": MEDIA}
    return TemplateResponse(request, "jobs/admin/dashboard.html", page | context)


# For the urls of a project; the login page of the admin is where it sends whoever is not staff.
urlpatterns = [path("", admin.site.admin_view(dashboard), name="jobyard_dashboard")]


def may_see(user: User | AnonymousUser) -> bool:
    return any(user.has_perm(f"jobs.{verb}_job") for verb in ("view", "change", "delete"))


def context_of(request: HttpRequest) -> dict[str, Any]:
    """What both pages show."""
    seen = overview(MOST_RUNNING)
    return {
        "now": seen.now,
        "total": seen.depths.total,
        "queues": queue_rows(seen),
        "buckets": list(Bucket),
        "spans": [Span("Last hour", seen.last_hour), Span("Last day", seen.last_day)],
        "running": running_jobs(seen),
        "unseen": max(0, seen.depths.total.running - len(seen.held)),
        "live_workers": sum(seen.workers[status] for status in LIVE_WORKER),
        "concerns": [(concern, links(concern)) for concern in seen.concerns],
        "may_operate_jobs": request.user.has_perm("jobs.change_job"),
        "may_clear_jobs": request.user.has_perm("jobs.delete_job"),
        "may_see_workers": request.user.has_perm("jobs.view_worker"),
        "request": request,
    }


def queue_rows(seen: Overview) -> list[QueueRow]:
    return [
        QueueRow(name, depth, name in seen.depths.paused, seen.rate_of(name))
        for name, depth in seen.depths.queues.items()
    ]


def charts() -> list[Chart]:
    return [
        chart("hour", "Last hour, minute by minute", history(HOUR, 60)),
        chart("day", "Last day, a quarter of an hour each", history(DAY, 96)),
    ]


def worker_cards() -> list[tuple[Worker, list[Any]]]:
    workers = latest_workers(limit=MOST_WORKERS)
    held = jobs_of_workers([worker.pk for worker in workers])
    return [(worker, held[worker.pk]) for worker in workers]


def links(concern: Concern) -> list[tuple[str, str]]:
    """Where one sees more of it."""
    found = []
    if concern.state:
        where = f"?state={concern.state}" + (f"&queue={concern.queue}" if concern.queue else "")
        found.append(("Show jobs", reverse("admin:jobs_job_changelist") + where))
    if concern.workers:
        found.append(("Show workers", reverse("admin:jobs_worker_changelist")))
    return found
