"""The pages of videos: the list, who sees what, who orders a new version, and that texts of others stay texts."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.models import Job
from jobs.states import PhaseStatus, QualityStatus, Status
from tests.factories import claimed
from tests.videos.shelf import VERSION, client_of, make_video, page_address, ready_video, transcode_job
from tests.videos.visits import PLAYER, half_way, page, progress, running_video

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("site_folders")]
HOSTILE = "<script>alert('x')</script>"
ESCAPED = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"


# Ordering a new version


def test_the_button_orders_that_quality_and_keeps_the_others(editor):
    video = ready_video(failed_qualities={"2160p": "The encoder died"})
    answer = editor.post(reverse("videos:transcode", args=["film"]), {"quality": "2160p"})
    assert (answer.status_code, answer["Location"]) == (302, page_address())
    job = Job.objects.get(kind="transcode.hls")
    assert (job.status, job.payload["qualities"]) == (Status.PENDING, ["2160p"])
    assert job.payload["carry"] == {"version": VERSION, "qualities": ["360p"]}
    video.refresh_from_db()
    assert video.job_id == job.pk


def test_without_a_quality_all_are_ordered_and_twice_is_once(editor):
    make_video()
    for _ in range(2):
        assert editor.post(reverse("videos:transcode", args=["film"])).status_code == 302
    assert Job.objects.get(kind="transcode.hls").payload["qualities"] is None


def test_a_quality_that_does_not_exist_is_refused_on_the_page(editor):
    ready_video()
    answer = editor.post(reverse("videos:transcode", args=["film"]), {"quality": HOSTILE})
    content = answer.content.decode()
    assert answer.status_code == 409
    assert "There is no quality" in content
    assert HOSTILE not in content
    assert not Job.objects.exists()


def test_only_those_who_may_change_order_and_only_with_a_token(viewer, client, settings):
    ready_video()
    address = reverse("videos:transcode", args=["film"])
    assert viewer.post(address).status_code == 403
    assert client.post(address).status_code == 302  # to the login
    settings.JOBS_VIDEO_PUBLIC = True
    assert client.post(address).status_code == 403
    assert client_of("change_video", csrf=True).post(address).status_code == 403
    assert client_of("change_video", name="other").get(address).status_code == 405
    assert not Job.objects.exists()


# The list


def test_the_list_shows_each_video_with_its_thumbnail_status_and_progress(viewer):
    ready_video("done", title="Done")
    job = transcode_job()
    make_video("moving", title="Moving", job=job)
    half_way(claimed(job=job))
    make_video("lost", title="Lost")
    content = page(viewer, reverse("videos:list"))
    for text in ("Done", "Moving", "Lost", f'src="/videos/done/files/{VERSION}/thumbnail.jpg"', "1:23"):
        assert text in content
    for status in ("ready", "processing", "failed"):
        assert f'<span class="chip {status}">{status}</span>' in content
    assert '<progress max="100" value="42" aria-label="Progress of Moving">' in content


def test_the_list_has_pages_and_asks_the_same_few_questions_for_many(viewer, django_assert_max_num_queries):
    for number in range(30):
        make_video(f"film-{number}", title=f"Film {number}", job=transcode_job())
    with django_assert_max_num_queries(8):
        first = page(viewer, reverse("videos:list"))
    assert first.count('class="card"') == 24
    assert "Page 1 of 2" in first
    assert page(viewer, reverse("videos:list") + "?page=2").count('class="card"') == 6
    assert page(viewer, reverse("videos:list") + "?page=nonsense").count('class="card"') == 24


def test_an_empty_list_says_so(viewer):
    assert "There are no videos yet." in page(viewer, reverse("videos:list"))


def test_who_may_add_videos_finds_the_way_there(viewer):
    assert "Add a video" not in page(viewer, reverse("videos:list"))
    assert "Add a video" in page(client_of("view_video", "add_video"), reverse("videos:list"))


# Who sees what


ADDRESSES = (reverse("videos:list"), page_address(), reverse("videos:progress", args=["film"]))


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_private_site_shows_strangers_nothing(client, address):
    ready_video()
    answer = client.get(address)
    if address.endswith("progress"):
        assert answer.status_code == 403
    else:
        assert (answer.status_code, answer["Location"]) == (302, f"/accounts/login/?next={address}")
    assert client_of(name="nobody").get(address).status_code == 403


def test_the_login_leads_back_to_the_video_also_for_those_who_are_not_staff(client):
    ready_video()
    User.objects.create_user("guest", password="a long secret")
    to_login = client.get(page_address())["Location"]
    assert "Log in" in client.get(to_login).content.decode()
    answer = client.post(to_login, {"username": "guest", "password": "a long secret"})
    assert (answer.status_code, answer["Location"]) == (302, page_address())


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_public_site_shows_everybody_what_is_published(client, settings, address):
    settings.JOBS_VIDEO_PUBLIC = True
    ready_video()
    assert client.get(address).status_code == 200
    assert PLAYER in client.get(page_address()).content.decode()


def test_visitors_of_a_public_site_see_no_errors_and_no_unpublished_videos_listed(client, settings):
    settings.JOBS_VIDEO_PUBLIC = True
    _, ref = running_video(title="Unfinished")
    report(Report(ref, qualities=[QualityReport("720p", QualityStatus.FAILED, error="/srv/secret/path is broken")]))
    assert "Unfinished" not in page(client, reverse("videos:list"))
    assert "secret" not in page(client) + str(progress(client))
    finish_one(Outcome.failed(ref, "/srv/secret/path is broken", fatal=True))
    content = page(client)
    assert "secret" not in content + str(progress(client))
    assert "This video could not be prepared" in content
    assert "Please come back later." in content
    ready_video("other", failed_qualities={"720p": "/srv/secret/path is broken"})
    assert "secret" not in page(client, page_address("other"))


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_pages_are_only_read(viewer, method):
    ready_video()
    for address in ADDRESSES:
        assert getattr(viewer, method)(address).status_code == 405


@pytest.mark.parametrize("slug", ["no-such-film", "x" * 500])
def test_a_video_that_is_not_there_is_not_found(viewer, slug):
    assert viewer.get(page_address(slug)).status_code == 404
    assert viewer.get(reverse("videos:progress", args=[slug])).status_code == 404


def test_pages_are_not_kept_by_caches(viewer):
    ready_video()
    for address in ADDRESSES:
        assert "no-store" in viewer.get(address)["Cache-Control"]


# Texts of others


def test_hostile_texts_are_shown_and_not_obeyed(editor):
    job = transcode_job(max_attempts=1)
    ready_video(title=HOSTILE, job=job, failed_qualities={HOSTILE: HOSTILE})
    ref = claimed(job=job)
    quality = QualityReport(HOSTILE, QualityStatus.FAILED, error=HOSTILE)
    report(Report(ref, 50, HOSTILE, [PhaseReport(HOSTILE, 0, PhaseStatus.RUNNING)], [quality]))
    running = page(editor)
    finish_one(Outcome.failed(ref, HOSTILE))
    for content in (running, page(editor), page(editor, reverse("videos:list"))):
        assert ESCAPED in content
        assert HOSTILE not in content


def test_no_page_has_scripts_or_styles_of_its_own(editor):
    """So that a site can forbid them: Content-Security-Policy without 'unsafe-inline'."""
    job = transcode_job()
    ready_video(job=job, failed_qualities={"2160p": "The encoder died"})
    half_way(claimed(job=job))
    for content in (page(editor), page(editor, reverse("videos:list"))):
        assert not re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:", content)
