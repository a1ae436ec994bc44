"""Where programs and remote workers reach the queue, its live streams, and the page that documents how: include it.

What answers is loaded by the first call. Every command, workers too, reads the urls of a project in its checks, and
would otherwise load django-ninja and pydantic: 12 MB and a fifth of a second that only a web server has use for.
"""

from importlib import import_module
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponseBase
from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from jobs.api.events.urls import urlpatterns as events


@csrf_exempt  # the API makes the check itself: its callers read JSON
def queue(request: HttpRequest, rest: str) -> HttpResponseBase:
    return loaded("site").answer(request, rest)


@csrf_exempt  # workers have no cookies
def worker(request: HttpRequest, rest: str) -> HttpResponseBase:
    return loaded("site").answer_worker(request, rest)


def document(request: HttpRequest) -> HttpResponseBase:
    return loaded("docs_page").document(request)


def page(request: HttpRequest) -> HttpResponseBase:
    return loaded("docs_page").page(request)


def asset(request: HttpRequest, name: str) -> HttpResponseBase:
    return loaded("docs_page").asset(request, name)


def loaded(name: str) -> Any:
    try:
        return import_module(f"jobs.api.{name}")
    except ModuleNotFoundError as error:
        if error.name not in ("ninja", "pydantic"):
            raise
        raise ImproperlyConfigured("The queue's API needs django-ninja: pip install 'jobyard[api]'.") from error


app_name = "jobs-api"
urlpatterns = [
    re_path(r"^api/(?P<rest>queue(?s:/.*)?)$", queue, name="queue"),
    re_path(r"^api/(?P<rest>worker(?s:/.*)?)$", worker, name="worker"),
    path("api/openapi.json", document, name="document"),
    path("api/docs", page, name="docs"),
    path("api/docs/<str:name>", asset, name="asset"),
    *events,
]
