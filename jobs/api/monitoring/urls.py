"""Where machines look: include it in a project's urls."""

from importlib import import_module

from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.urls import path

from jobs.api.monitoring import health


def metrics(request: HttpRequest) -> HttpResponse:
    """Loaded by the first call, so that only who is scraped needs prometheus-client."""
    try:
        answer: HttpResponse = import_module("jobs.api.monitoring.metrics").metrics(request)
    except ModuleNotFoundError as error:
        if error.name != "prometheus_client":
            raise
        raise ImproperlyConfigured("/metrics needs prometheus-client: pip install 'jobyard[metrics]'.") from error
    return answer


app_name = "jobs-monitoring"
urlpatterns = [
    path("metrics", metrics, name="metrics"),
    path("health/live", health.live, name="live"),
    path("health/ready", health.ready, name="ready"),
    path("api/health", health.health, name="health"),
]
