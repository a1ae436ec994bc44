"""Videos in the admin: upload, look, rename, transcode again, delete."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import AdminForm
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from jobs.admin.read_only import ReadOnlyInline
from jobs.exceptions import JobyardError
from jobs.lifecycle.payload import unstorable
from jobs.videos import shown_in_admin as shown
from jobs.videos.exceptions import VideoNotFound
from jobs.videos.lifecycle.remove import remove_video
from jobs.videos.lifecycle.rename import rename
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video, VideoQuality, VideoQuerySet
from jobs.videos.selectors import library
from jobs.videos.states import VideoStatus
from jobs.videos.upload_form import UploadForm

MOST_TOLD = 10

# Columns and functions that show something; to the type checker's knowledge of Django there are only columns.
TITLE: Any = ("title", shown.page_link)
NOW: Any = (
    shown.status, shown.error, shown.progress, shown.quality_bars, shown.missing, shown.job_link,
)  # fmt: skip
PUBLISHED: Any = ("version", "published_at", shown.length, shown.size_on_disk)
SOURCE: Any = ("source_name", shown.upload_size, "source_sha256", "source", "created_at")
QUALITY: Any = ("name", "width", "height", shown.quality_bitrate, shown.quality_size, "codec", "encoder")


class StatusFilter(admin.SimpleListFilter):
    title, parameter_name = "status", "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(status.value, status.value) for status in VideoStatus]

    def queryset(self, request: HttpRequest, videos: QuerySet[Video]) -> QuerySet[Video]:
        return videos.filter(Q(status=self.value())) if self.value() in list(VideoStatus) else videos


class QualityInline(ReadOnlyInline):
    model = VideoQuality
    verbose_name_plural = "qualities of the published version"
    fields = QUALITY
    readonly_fields = QUALITY


@admin.register(Video)
class VideoAdmin(admin.ModelAdmin):
    list_display = (
        "title", shown.status, shown.made, shown.length, shown.size_on_disk, shown.progress, shown.short_page_link,
        shown.short_job_link,
    )  # fmt: skip
    list_filter = (StatusFilter,)
    search_fields = ("title", "slug", "source_name")
    show_full_result_count = False
    list_per_page = 50
    inlines = (QualityInline,)
    actions = ("transcode_again", "transcode_failed")
    fieldsets = (
        (None, {"fields": TITLE}),
        ("Now", {"fields": NOW}),
        ("Published version", {"fields": PUBLISHED}),
        ("Source", {"fields": SOURCE}),
    )
    readonly_fields = (*TITLE[1:], *NOW, *PUBLISHED, *SOURCE)

    class Media:
        css = {"all": ("videos/admin.css",)}

    def get_queryset(self, request: HttpRequest) -> VideoQuerySet:
        return library()

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Nothing is looked up by text that no database could have."""
        return not unstorable(value) and super().lookup_allowed(lookup, value, request)

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        listed = super().get_changelist_instance(request)
        shown.tell_qualities(listed.result_list)
        return listed

    def get_fieldsets(self, request: HttpRequest, obj: Video | None = None) -> Any:
        """Without rows that have nothing to say."""
        said = tuple(field for field in NOW if obj is None or field(obj))
        return [(name, {"fields": said if name == "Now" else what["fields"]}) for name, what in self.fieldsets]

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Not Django's own, which would keep a transaction open while a large file is read and stored."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = UploadForm(request.POST, request.FILES) if request.method == "POST" else UploadForm()
        if form.is_valid():
            try:
                return self.after_adding(request, form)
            except JobyardError as error:
                form.add_error("file", str(error))
        return TemplateResponse(request, "videos/admin/add.html", self.add_context(request, form))

    def after_adding(self, request: HttpRequest, form: UploadForm) -> HttpResponse:
        added = form.add()
        link = format_html(
            '<a href="{}">{}</a>', reverse("admin:videos_video_change", args=[added.video.pk]), added.video
        )
        if added.created:
            self.log_addition(request, added.video, [{"added": {}}])
            told = format_html("{} was added; job {} transcodes it.", link, added.job_id)
            self.message_user(request, told, messages.SUCCESS)
        else:
            told = format_html("Nothing new: {} has the same content.", link)
            self.message_user(request, told, messages.WARNING)
        return self.response_post_save_add(request, added.video)

    def add_context(self, request: HttpRequest, form: UploadForm) -> dict[str, Any]:
        fieldsets = [
            (None, {"fields": ["file", "title"]}),
            ("Transcoding", {"fields": ["qualities", "strict", "force"]}),
        ]
        return {
            **self.admin_site.each_context(request),
            "title": "Add video",
            "opts": self.opts,
            "add": True,
            "has_file_field": True,
            "has_view_permission": self.has_view_or_change_permission(request),
            "adminform": AdminForm(form, fieldsets, {}, model_admin=self),  # type: ignore[arg-type]  # no ModelForm
            "errors": [error for errors in form.errors.values() for error in errors],
            "media": self.media + form.media,
        }

    def save_model(self, request: HttpRequest, video: Video, form: ModelForm, change: bool) -> None:
        rename(video, form.cleaned_data["title"])

    def delete_model(self, request: HttpRequest, video: Video) -> None:
        with suppress(VideoNotFound):  # somebody else was faster
            remove_video(video)

    def delete_queryset(self, request: HttpRequest, videos: QuerySet[Video]) -> None:
        for video in videos:
            self.delete_model(request, video)

    def get_deleted_objects(
        self, videos: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[str]]:
        """What the page that asks whether to delete lists: the files are what people care about."""
        denied = set() if self.has_delete_permission(request) else {str(self.opts.verbose_name)}
        return shown.to_be_deleted(videos), {"videos": len(videos)}, denied, []

    @admin.action(description="Transcode again, all qualities", permissions=["change"])
    def transcode_again(self, request: HttpRequest, videos: QuerySet[Video]) -> None:
        self.order(request, ((video, None) for video in videos))

    @admin.action(description="Transcode again, only the qualities that failed", permissions=["change"])
    def transcode_failed(self, request: HttpRequest, videos: QuerySet[Video]) -> None:
        """Of a video that has nothing published everything is missing."""
        missing = {video: list(video.failed_qualities) for video in videos}
        fine = [video for video, names in missing.items() if video.version and not names]
        self.order(request, ((video, names or None) for video, names in missing.items() if video not in fine))
        self.tell_left_alone(request, dict.fromkeys(fine, "none of its qualities failed"))

    def order(self, request: HttpRequest, wanted: Iterable[tuple[Video, list[str] | None]]) -> None:
        ordered, left = 0, {}
        for video, names in wanted:
            try:
                answer = retranscode(video, names)
            except JobyardError as error:
                left[video] = str(error).rstrip(".")
                continue
            ordered += answer.created
            if not answer.created:
                left[video] = f"job {answer.job_id} is pending or running already"
        if ordered:
            told = "1 video is transcoded again." if ordered == 1 else f"{ordered} videos are transcoded again."
            self.message_user(request, told, messages.SUCCESS)
        self.tell_left_alone(request, left)

    def tell_left_alone(self, request: HttpRequest, left: dict[Video, str]) -> None:
        for video, why in list(left.items())[:MOST_TOLD]:
            self.message_user(request, f"{video} was left alone: {why}.", messages.WARNING)
        if len(left) > MOST_TOLD:
            self.message_user(request, f"… and {len(left) - MOST_TOLD} more.", messages.WARNING)
