"""Where the streams are."""

from django.urls import path, re_path

from jobs.api.endpoint import elsewhere
from jobs.api.events import views

app_name = "live"
urlpatterns = [
    path("api/events/jobs", views.jobs, name="jobs"),
    path("api/events/jobs/<int:job_id>", views.job, name="job"),
    path("api/events/workers", views.workers, name="workers"),
    re_path(r"^api/events/", elsewhere),  # a program that missed the address reads JSON, too
]
