"""The Django app `jobs.videos`."""

from django.apps import AppConfig


class VideosConfig(AppConfig):
    name = "jobs.videos"
    label = "videos"
    verbose_name = "Videos"
    default_auto_field = "django.db.models.BigAutoField"
