"""Where each page lives."""

from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.urls import include, path
from django.views.generic import RedirectView

from project.login.forms import LimitedForm

log_in = LoginView.as_view(
    template_name="admin/login.html",
    authentication_form=LimitedForm,
    next_page="videos:list",
    extra_context={"title": "Log in"},
)

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index")),
    path("admin/", admin.site.urls),
    path("dashboard/", include("jobs.admin.dashboard")),
    # For whom is not staff, but may watch.
    path("accounts/login/", log_in, name="login"),
    path("", include("jobs.api.urls")),
    path("", include("jobs.api.monitoring.urls")),
    path("", include("jobs.videos.urls")),
]
