"""Where the videos are watched, and where programs reach them."""

from django.urls import path, re_path

from jobs.api.endpoint import elsewhere
from jobs.videos.api import views as api
from jobs.videos.views import files, pages

app_name = "videos"
urlpatterns = [
    path("videos/", pages.video_list, name="list"),
    path("videos/<slug:slug>/", pages.video_page, name="page"),
    path("videos/<slug:slug>/progress", pages.progress, name="progress"),
    path("videos/<slug:slug>/transcode", pages.transcode_again, name="transcode"),
    path("videos/<slug:slug>/files/<str:version>/<path:path>", files.file, name="file"),
    path("api/videos", api.videos, name="api-list"),
    path("api/videos/<int:video_id>", api.video, name="api-video"),
    path("api/videos/<int:video_id>/retranscode", api.retranscodes, name="api-retranscode"),
    re_path(r"^api/videos/", elsewhere),  # a program that missed the address reads JSON, too
]
