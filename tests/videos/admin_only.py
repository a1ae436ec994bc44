"""The addresses of a project that has the admin and leaves the pages of videos out."""

from django.contrib import admin
from django.urls import path

urlpatterns = [path("admin/", admin.site.urls)]
