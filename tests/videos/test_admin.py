"""Videos in the admin: uploaded, looked at, transcoded again and deleted, by those who may."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.files.storage import FileSystemStorage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client, override_settings
from django.urls import reverse

from jobs.handlers.base import Outcome, QualityReport, Report, Spawn
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.lifecycle.spawn import spawn
from jobs.models import Job
from jobs.states import QualityStatus, Status
from jobs.videos.lifecycle.retranscode import retranscode
from jobs.videos.models import Video
from tests.admin.visits import ESCAPED, HOSTILE, logged_in, staff
from tests.factories import claimed, reload
from tests.videos.library import (
    begun,
    finish_transcode,
    make_video,
    ready_video,
    reload_video,
    stored_files,
)

pytestmark = pytest.mark.django_db
LIST, ADD = "admin:videos_video_changelist", "admin:videos_video_add"


@pytest.fixture(autouse=True)
def _static_root(settings: LazySettings, tmp_path: Path, media: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # where there is none, WhiteNoise warns


@pytest.fixture
def editor() -> Client:
    return logged_in(User.objects.create_superuser("editor", password=None))


def page(client: Client, name: str, *arguments: object) -> str:
    answer = client.get(reverse(name, args=arguments))
    assert answer.status_code == 200
    return answer.content.decode()


def change_page(client: Client, video: Video) -> str:
    return page(client, "admin:videos_video_change", video.pk)


def told_by(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return [str(message) for message in answer.context["messages"]]


def act(client: Client, action: str, *videos: Video) -> list[str]:
    chosen = {"action": action, "_selected_action": [str(video.pk) for video in videos]}
    return told_by(client.post(reverse(LIST), chosen, follow=True))


def upload(client: Client, content: bytes = b"a film", name: str = "film.mp4", **fields: Any) -> Any:
    return client.post(reverse(ADD), {"file": SimpleUploadedFile(name, content), **fields}, follow=True)


# Upload


def test_an_upload_becomes_a_video_with_a_job(editor, media):
    [told] = told_by(upload(editor, title="My film", qualities=["720p", "360p"], strict="on"))
    video = Video.objects.get()
    assert "My film</a> was added" in told
    assert stored_files(media) == [f"sources/{video.pk}/film.mp4"]
    payload = reload(video.job_id or 0).payload
    assert (payload["qualities"], payload["strict"]) == (["720p", "360p"], True)


def test_nothing_chosen_means_all_qualities_and_a_title_from_the_name(editor):
    upload(editor, name="My_holiday.mp4")
    video = Video.objects.get()
    assert (video.title, reload(video.job_id or 0).payload["qualities"]) == ("My holiday", None)


def test_the_same_content_leads_to_the_video_that_has_it(editor):
    upload(editor)
    [told] = told_by(upload(editor, name="other.mp4"))
    video = Video.objects.get()
    assert "Nothing new" in told
    assert reverse("admin:videos_video_change", args=[video.pk]) in told
    upload(editor, force="on")
    assert Video.objects.count() == 2


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"content": b""}, "The submitted file is empty."),
        ({"qualities": ["8000p"]}, "Select a valid choice. 8000p is not one of the available choices."),
        ({"title": "x" * 201}, "at most 200 characters"),
    ],
)
def test_what_is_wrong_is_told_on_the_form_and_nothing_is_stored(editor, media, fields, sentence):
    answer = upload(editor, **fields)
    assert sentence in answer.content.decode()
    assert not Video.objects.exists()
    assert not stored_files(media)


def test_what_the_library_refuses_is_told_on_the_form(editor, settings):
    settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "tests.videos.test_admin.Cutting"}}
    assert "changed while it was read" in upload(editor).content.decode()


class Cutting(FileSystemStorage):
    """A storage that loses the end of what it is given."""

    def size(self, name: str) -> int:
        return super().size(name) - 1


def test_the_form_explains_itself(editor):
    content = page(editor, ADD)
    for text in ("Video file", "multipart/form-data", "2160p", "All or nothing", "Add and transcode"):
        assert text in content


# Look


def test_the_list_shows_what_matters(editor):
    ready = ready_video("one", "1080p", "360p", title="Ready one")
    failed = make_video("two", title="Failed one")
    finish_one(Outcome.failed(begun(failed), "it broke", fatal=True))
    running = make_video("three", title="Running one")
    report(Report(begun(running), progress=42, step="transcode"))
    content = page(editor, LIST)
    for text in ("Ready one", "1080p, 360p", "0:12", "2.4\xa0KB", "Failed one", "Running one", 'max="100" value="42"',
                 f'href="/videos/{ready.slug}/"', f"/admin/jobs/job/{ready.job_id}/change/"):  # fmt: skip
        assert text in content
    for status in ("ready", "failed", "processing"):
        assert f'class="video-status {status}"' in content
        found = editor.get(reverse(LIST), {"status": status})
        assert [video.title.split()[0].lower() for video in found.context["cl"].result_list] == [
            {"processing": "running"}.get(status, status)
        ]


def test_while_others_encode_its_parts_a_video_is_as_far_as_its_qualities(editor, django_assert_max_num_queries):
    for number in range(5):
        ref = begun(make_video(str(number)))
        qualities = [QualityReport(name, QualityStatus.IN_PROGRESS, 0, 10, 0) for name in ("720p", "360p")]
        report(Report(ref, progress=3, qualities=qualities))
        [part] = spawn(ref, [Spawn("test.noop", {}, "720p")])
        own = QualityReport("720p", QualityStatus.IN_PROGRESS, 80, 10, 8)
        report(Report(claimed(job=reload(part.id)), qualities=[own]))
        finish_one(Outcome.waiting(ref, None))
    with django_assert_max_num_queries(14):
        content = page(editor, LIST)
    assert (
        content.count('max="100" value="38"') == 5
    )  # 95 % when all parts are there: two qualities, of which one is at 80 %
    assert 'max="100" value="38"' in change_page(editor, Video.objects.latest("pk"))


def test_the_list_takes_as_many_queries_for_ten_videos_as_for_one(editor, django_assert_max_num_queries):
    for number in range(10):
        ready_video(str(number))
    with django_assert_max_num_queries(12):
        page(editor, LIST)


def test_a_video_s_page_shows_its_live_facts_and_edits_nothing_but_the_title(editor):
    video = ready_video("one", "720p")
    retranscode(video)
    details = {"fps": 48.0, "speed": 1.9, "eta": 12}
    quality = QualityReport("720p", QualityStatus.IN_PROGRESS, 30, 10, 3, details=details)
    report(Report(begun(video), progress=28, step="transcode", qualities=[quality]))
    content = change_page(editor, video)
    for text in ("3 of 10 segments · 48 fps · 1.9× · 0:12 left", 'max="100" value="30"', 'max="100" value="28"',
                 video.version, "libx264", "avc1.64001f", "1 Mbit/s", video.source_sha256):  # fmt: skip
        assert text in content
    assert content.count('<input type="text"') + content.count("<textarea") == 1


def test_the_qualities_of_a_job_are_shown_by_size_and_what_has_ended_has_no_progress(editor):
    video = ready_video("one", "720p")
    retranscode(video)
    told = [QualityReport(name, QualityStatus.IN_PROGRESS) for name in ("480p", "1080p", "720p")]
    report(Report(ref := begun(video), qualities=told))
    content = change_page(editor, video)
    assert re.findall(r"<tr><td>(\d+p)</td>", content) == ["1080p", "720p", "480p"]
    assert "field-progress" in content
    finish_one(Outcome.failed(ref, "no", fatal=True))
    assert "field-progress" not in change_page(editor, video)


def test_qualities_that_failed_are_shown_with_their_errors(editor):
    video = make_video()
    finish_transcode(video, "360p", failed={"720p": "EncoderFailed: no"})
    assert "720p: EncoderFailed: no" in change_page(editor, video)
    assert "360p (failed: 720p)" in page(editor, LIST)


def test_a_job_that_was_cleared_is_no_problem(editor):
    video = make_video()
    cancel(video.job_id or 0)
    clear([video.job_id or 0])
    assert f"job {video.job_id} was cleared" in change_page(editor, video)
    assert video.title in page(editor, LIST)


def test_hostile_texts_are_shown_and_not_obeyed(editor):
    video = make_video(title=HOSTILE)
    ref = begun(video)
    quality = QualityReport("720p", QualityStatus.FAILED, error=HOSTILE)
    report(Report(ref, 5, HOSTILE, qualities=[quality]))
    Video.objects.update(failed_qualities={HOSTILE: HOSTILE}, source_name=HOSTILE)
    delete = page(editor, "admin:videos_video_delete", video.pk)
    pages = [page(editor, LIST), change_page(editor, video), delete]
    finish_one(Outcome.failed(ref, HOSTILE, fatal=True))
    for content in [*pages, change_page(editor, video)]:
        assert ESCAPED in content
        assert HOSTILE not in content


@override_settings(ROOT_URLCONF="tests.videos.admin_only")
def test_where_there_are_no_pages_there_is_no_link(editor):
    video = ready_video()
    assert f"/videos/{video.slug}/" not in page(editor, LIST)


# Do


def test_a_new_title_is_saved_and_nothing_else(editor):
    video = ready_video()
    fields = {"title": "Better title", "slug": "hacked", "version": "hacked", "source": "hacked",
              "qualities-TOTAL_FORMS": 0, "qualities-INITIAL_FORMS": 0}  # fmt: skip
    told_by(editor.post(reverse("admin:videos_video_change", args=[video.pk]), fields, follow=True))
    after = reload_video(video)
    assert (after.title, after.slug, after.version, after.source) == (
        "Better title", video.slug, video.version, video.source,
    )  # fmt: skip


def test_transcode_again_orders_a_new_version_of_each(editor):
    first, second = ready_video("one"), ready_video("two")
    assert act(editor, "transcode_again", first, second) == ["2 videos are transcoded again."]
    job = reload_video(first).job_id
    assert act(editor, "transcode_again", first) == [
        f"{first.title} was left alone: job {job} is pending or running already."
    ]
    assert Job.objects.filter(kind="transcode.hls", status=Status.PENDING).count() == 2


def test_transcode_failed_orders_what_is_missing(editor):
    part, whole, nothing = make_video("one", title="Part"), ready_video("two", title="Whole"), make_video("three")
    finish_transcode(part, "360p", failed={"720p": "no"})
    cancel(nothing.job_id or 0)
    assert act(editor, "transcode_failed", part, whole, nothing) == [
        "2 videos are transcoded again.", "Whole was left alone: none of its qualities failed.",
    ]  # fmt: skip
    payload = reload(reload_video(part).job_id or 0).payload
    assert payload["qualities"] == ["720p"]
    assert payload["carry"]["qualities"] == ["360p"]
    assert reload(reload_video(nothing).job_id or 0).payload["qualities"] is None


@pytest.mark.django_db(transaction=True)
def test_deleting_one_asks_first_and_removes_the_files(editor, media):
    video, other = ready_video("one"), ready_video("two")
    question = page(editor, "admin:videos_video_delete", video.pk)
    assert "its source: film.mp4, 3\xa0bytes" in question
    assert "its published version: 720p, 360p, 2.4\xa0KB" in question
    told_by(editor.post(reverse("admin:videos_video_delete", args=[video.pk]), {"post": "yes"}, follow=True))
    assert list(Video.objects.all()) == [other]
    assert not [name for name in stored_files(media) if f"/{video.pk}/" in name]


@pytest.mark.django_db(transaction=True)
def test_deleting_several_goes_the_same_way(editor, media):
    waiting, ready = make_video("one"), ready_video("two")
    chosen = {"action": "delete_selected", "_selected_action": [waiting.pk, ready.pk], "post": "yes"}
    editor.post(reverse(LIST), chosen)
    assert not Video.objects.exists()
    assert not stored_files(media)
    assert reload(waiting.job_id or 0).status == Status.CANCELLED


# Who may


@pytest.mark.parametrize("name", [LIST, ADD])
def test_strangers_are_sent_to_the_login_and_staff_without_permission_away(client, name):
    assert client.get(reverse(name)).headers["Location"].startswith(reverse("admin:login"))
    assert staff().get(reverse(name)).status_code == 403


def test_staff_who_may_only_look_cannot_do_anything(media):
    viewer, video = staff("view_video"), ready_video()
    before = Video.objects.values().get(), Job.objects.count(), stored_files(media)
    assert "Add video" not in page(viewer, LIST)
    assert upload(viewer).status_code == 403
    act(viewer, "transcode_again", video)
    act(viewer, "transcode_failed", video)
    act(viewer, "delete_selected", video)
    change = reverse("admin:videos_video_change", args=[video.pk])
    assert viewer.post(change, {"title": "mine"}).status_code == 403
    assert viewer.post(reverse("admin:videos_video_delete", args=[video.pk]), {"post": "yes"}).status_code == 403
    assert (Video.objects.values().get(), Job.objects.count(), stored_files(media)) == before


def test_staff_who_may_add_can_upload_and_nothing_more():
    adder = staff("add_video")
    [told] = told_by(upload(adder))
    assert "was added" in told
    video = Video.objects.get()
    assert adder.post(reverse(LIST), {"action": "transcode_again", "_selected_action": [video.pk]}).status_code == 403


def test_without_the_token_of_a_form_nothing_is_added():
    user = User.objects.create_superuser("editor", password=None)
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)
    assert upload(client).status_code == 403
    assert not Video.objects.exists()
