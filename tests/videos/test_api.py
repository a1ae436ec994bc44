"""Videos over HTTP, as a program uses them: looking, ordering a new version, removing."""

import pytest

from jobs.handlers.base import Outcome, QualityReport, Report
from jobs.handlers.files import job_storage
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.models import Job
from jobs.states import QualityStatus, Status
from jobs.videos.models import Video
from tests.api.calls import error_of, post_json
from tests.factories import claimed
from tests.videos.api_calls import VIDEOS, upload
from tests.videos.shelf import FILES, VERSION, make_video, ready_video, transcode_job

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("site_folders")]


# Looking


def test_the_list_shows_the_newest_first_and_says_where_it_goes_on(program):
    made = [make_video(f"film-{number}").pk for number in range(5)]
    first = program.get(f"{VIDEOS}?limit=3").json()
    assert [video["id"] for video in first["videos"]] == made[:1:-1]
    rest = program.get(first["next"]).json()
    assert ([video["id"] for video in rest["videos"]], rest["next"]) == (made[1::-1], None)
    assert program.get(VIDEOS).json()["next"] is None


def test_an_empty_list_is_empty(program):
    assert program.get(VIDEOS).json() == {"videos": [], "next": None}


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=501", "limit=-1", "limit=x", "limit=", "limit=٣", "before=0", "before=" + "9" * 30, "page=2"],
)
def test_a_list_that_is_asked_for_wrongly_is_refused(program, query):
    assert error_of(program.get(f"{VIDEOS}?{query}"), 422)[0] == "invalid"


def test_a_ready_video_tells_all(program):
    video = ready_video(failed_qualities={"2160p": "The encoder died"})
    told = program.get(f"{VIDEOS}/{video.pk}").json()
    assert told | {"created_at": ""} == {
        "id": video.pk, "slug": "film", "title": "A film", "status": "ready", "error": None, "job": None,
        "duration": 83.2, "size": 1_500_000, "created_at": "", "published_at": None, "version": VERSION,
        "url": "http://testserver/videos/film/",
        "playlist": f"http://testserver/videos/film/files/{VERSION}/master.m3u8",
        "thumbnail": f"http://testserver/videos/film/files/{VERSION}/thumbnail.jpg",
        "source": {"name": "film.mkv", "size": 1000},
        "qualities": [{
            "name": "360p", "width": 640, "height": 360, "bitrate": 812_345, "codec": "avc1.64001e",
            "encoder": "libx264", "size": 1_400_000,
        }],
        "failed": {"2160p": "The encoder died"}, "progress": None, "job_qualities": [],
    }  # fmt: skip
    assert b"".join(program.get(told["playlist"]).streaming_content) == FILES["master.m3u8"]


def test_a_video_in_the_making_tells_how_far_it_is(program):
    job = transcode_job(max_attempts=1)
    video = make_video(job=job)
    ref = claimed(job=job)
    report(Report(ref, progress=42, qualities=[QualityReport("720p", QualityStatus.IN_PROGRESS, 30, 10, 3)]))
    told = program.get(f"{VIDEOS}/{video.pk}").json()
    assert (told["status"], told["progress"]) == ("processing", {"percent": 42, "text": "Starting"})
    assert told["job_qualities"] == [{"name": "720p", "status": "in_progress", "percent": 30, "error": None}]
    assert (told["version"], told["playlist"], told["thumbnail"]) == (None, None, None)
    finish_one(Outcome.failed(ref, "broken"))
    told = program.get(f"{VIDEOS}/{video.pk}").json()
    assert (told["status"], told["error"], told["progress"]) == ("failed", "broken", None)


# Again, and away


def test_a_new_version_of_all_qualities_is_ordered(program):
    video = ready_video()
    answer = post_json(program, f"{VIDEOS}/{video.pk}/retranscode", {})
    assert (answer.status_code, answer.json()["status"], answer.json()["created"]) == (202, "ready", True)
    job = Job.objects.get(pk=answer.json()["job"])
    assert (job.payload["qualities"], job.payload["strict"], job.payload["carry"]["qualities"]) == (None, False, [])


def test_a_new_version_of_some_qualities_is_ordered_and_twice_is_once(program):
    video = ready_video(failed_qualities={"720p": "The encoder died"})
    address, wish = f"{VIDEOS}/{video.pk}/retranscode", {"qualities": ["720p"], "strict": True}
    first, second = post_json(program, address, wish), post_json(program, address, wish)
    assert (first.status_code, second.status_code) == (202, 202)
    assert (first.json()["created"], second.json()["created"]) == (True, False)
    assert first.json()["job"] == second.json()["job"]
    payload = Job.objects.get().payload
    assert (payload["qualities"], payload["strict"]) == (["720p"], True)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", "malformed"), ("{", "malformed"), ("nonsense", "malformed"), (b"\xff\xfe\x00", "malformed"),
        ('{"strict": NaN}', "malformed"), ("[" * 20_000, "malformed"), ("[]", "invalid"), ("null", "invalid"),
        ('"text"', "invalid"), ('{"quality": "720p"}', "invalid"), ('{"qualities": "720p"}', "invalid"),
        ('{"qualities": []}', "invalid"), ('{"qualities": [1]}', "invalid"), ('{"qualities": [["720p"]]}', "invalid"),
        ('{"qualities": ["8p"]}', "invalid"), ('{"qualities": ["72\\u00000p"]}', "invalid"),
        ('{"strict": 1}', "invalid"), ('{"strict": null}', "invalid"), ('{"strict": "true"}', "invalid"),
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
def test_an_order_that_is_wrong_is_refused_with_one_sentence(program, body, code):
    video = ready_video()
    told, message = error_of(
        post_json(program, f"{VIDEOS}/{video.pk}/retranscode", body), {"malformed": 400, "invalid": 422}[code]
    )
    assert told == code
    assert message.endswith(".")
    assert not Job.objects.exists()


def test_an_order_is_json_and_short(program):
    video = ready_video()
    address = f"{VIDEOS}/{video.pk}/retranscode"
    assert error_of(post_json(program, address, {}, "text/plain"), 415) == (
        "unsupported_type", "The Content-Type must be application/json, not text/plain.",
    )  # fmt: skip
    assert error_of(post_json(program, address, {"qualities": ["x" * 70_000]}), 413)[0] == "too_large"
    assert post_json(program, address, {}, "application/json; charset=utf-8").status_code == 202


def test_a_video_is_removed_with_its_files_and_its_waiting_job(program, django_capture_on_commit_callbacks):
    with django_capture_on_commit_callbacks(execute=True):
        told = upload(program).json()
    source = Video.objects.get().source
    with django_capture_on_commit_callbacks(execute=True):
        answer = program.delete(f"{VIDEOS}/{told['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert not Video.objects.exists()
    assert Job.objects.get(pk=told["job"]).status == Status.CANCELLED
    assert not job_storage().exists(source)
    assert error_of(program.delete(f"{VIDEOS}/{told['id']}"), 404)[0] == "not_found"
