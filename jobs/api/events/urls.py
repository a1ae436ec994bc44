"""Where the streams are; `jobs.api.urls` includes them."""

from django.urls import path, re_path

from jobs.api.endpoint import elsewhere
from jobs.api.events import views

urlpatterns = [
    path("api/events/jobs", views.jobs, name="live-jobs"),
    path("api/events/jobs/<int:job_id>", views.job, name="live-job"),
    path("api/events/workers", views.workers, name="live-workers"),
    re_path(r"^api/events/", elsewhere),  # a program that missed the address reads JSON, too
]
