"""Videos over HTTP, as a program uses them: what works, who may, and one clear sentence for each mistake."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from jobs.handlers.base import Outcome, QualityReport, Report
from jobs.handlers.files import job_storage
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.models import Job
from jobs.states import QualityStatus, Status
from jobs.videos.models import Video
from tests.factories import claimed
from tests.videos.shelf import FILES, VERSION, client_of, make_video, ready_video, transcode_job

pytestmark = pytest.mark.django_db
VIDEOS = "/api/videos"
CONTENT = b"what a camera might have written"
ALL = ("view_video", "add_video", "change_video", "delete_video")


@pytest.fixture(autouse=True)
def _media(settings: LazySettings, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.STATIC_ROOT = tmp_path / "static"
    settings.STATIC_ROOT.mkdir()  # where there is none, WhiteNoise warns


@pytest.fixture
def program() -> Client:
    """Logged in, and may do everything with videos."""
    return client_of(*ALL)


def a_file(content: bytes = CONTENT, name: str = "holiday.mkv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def upload(client: Client, **fields: Any) -> Any:
    return client.post(VIDEOS, {"file": a_file(), **fields})


def post_json(client: Client, address: str, body: Any, content_type: str = "application/json") -> Any:
    data = body if isinstance(body, (str, bytes)) else json.dumps(body)
    return client.generic("POST", address, data, CONTENT_TYPE=content_type)


def error_of(answer: Any, status: int) -> tuple[str, str]:
    """The code and the sentence of an error, which is told as JSON and in no other way."""
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/json"), answer.content
    told = answer.json()
    assert told.keys() == {"error"}
    assert told["error"].keys() == {"code", "message"}
    return told["error"]["code"], told["error"]["message"]


# Upload


def test_an_upload_becomes_a_video_with_its_job(program):
    answer = upload(program, title="Holiday", qualities="720p, 360p", strict="true")
    assert answer.status_code == 201
    video = Video.objects.get()
    told = answer.json()
    assert told["created"] is True
    assert {name: told[name] for name in ("id", "slug", "title", "status", "job", "url")} == {
        "id": video.pk, "slug": "holiday", "title": "Holiday", "status": "pending", "job": video.job_id,
        "url": "http://testserver/videos/holiday/",
    }  # fmt: skip
    assert answer["Location"] == f"/api/videos/{video.pk}"
    job = video.own_job().get()
    assert (job.status, job.payload["qualities"], job.payload["strict"]) == (Status.PENDING, ["720p", "360p"], True)
    with job_storage().open(video.source) as stored:
        assert stored.read() == CONTENT


def test_the_title_the_qualities_and_strict_may_be_left_out(program):
    assert upload(program).json()["title"] == "holiday"
    payload = Job.objects.get().payload
    assert (payload["qualities"], payload["strict"]) == (None, False)


def test_qualities_may_also_be_given_one_by_one(program):
    assert upload(program, qualities=["360p", "720p"]).status_code == 201
    assert Job.objects.get().payload["qualities"] == ["720p", "360p"]


def test_the_same_content_again_is_the_same_video(program):
    first, second = upload(program, title="One").json(), upload(program, title="Two")
    assert (second.status_code, second.json()["created"]) == (200, False)
    assert (second.json()["id"], second.json()["job"], second.json()["title"]) == (first["id"], first["job"], "One")
    assert Video.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"quality": "720p"}, "Unknown field 'quality'; known are file, title, qualities, strict."),
        ({"strict": "perhaps"}, "strict must be true or false."),
        ({"strict": ["1", "0"]}, "strict is given 2 times."),
        ({"title": ["a", "b"]}, "title is given 2 times."),
        ({"title": "x" * 201}, "The title has 201 characters; at most 200 are allowed."),
        ({"title": "a\x00b"}, "The title contains"),
        ({"qualities": "8p"}, "There is no quality '8p'; choose from 2160p, 1440p, 1080p, 720p, 480p, 360p."),
        ({"file": ""}, "Send one file in the field 'file'; there are none."),
        ({"file": a_file(b"")}, "The file is empty."),
        ({"file": [a_file(), a_file()]}, "Send one file in the field 'file'; there are 2."),
        ({"other": a_file()}, "Unknown file field 'other'; known are file."),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_upload_that_is_wrong_is_refused_with_one_sentence(program, fields, sentence):
    code, message = error_of(upload(program, **fields), 400)
    assert (code, message[: len(sentence)]) == ("invalid", sentence)
    assert not Video.objects.exists()
    assert not Job.objects.exists()


def test_an_upload_without_anything_is_refused(program):
    assert error_of(program.post(VIDEOS, {}), 400)[1] == "Send one file in the field 'file'; there are none."


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "application/x-www-form-urlencoded", ""])
def test_only_a_multipart_form_is_an_upload(program, content_type):
    code, message = error_of(program.generic("POST", VIDEOS, b"{}", content_type=content_type), 415)
    assert code == "unsupported_type"
    assert message == f"The Content-Type must be multipart/form-data, not {content_type or 'nothing'}."


@pytest.mark.parametrize(
    "body",
    [b"", b"no form at all", b"--b\r\nContent-Disposition: form-data; name=", b"\x00" * 100, b"--b--"],
)
def test_a_broken_form_is_refused(program, body):
    answer = program.generic("POST", VIDEOS, body, CONTENT_TYPE="multipart/form-data; boundary=b")
    error_of(answer, 400)
    without = program.generic("POST", VIDEOS, body or b"x", content_type="multipart/form-data")
    assert error_of(without, 400) == ("malformed", "The body is not a well-formed multipart form.")


def test_a_form_with_too_many_fields_is_refused(program, settings):
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 5
    assert error_of(upload(program, qualities=["720p"] * 10), 400)[0] == "malformed"


def test_a_form_with_fields_that_are_too_large_is_refused(program, settings):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    assert error_of(upload(program, title="x" * 2000), 413)[0] == "too_large"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(program, settings):
    settings.JOBS_VIDEO_MAX_UPLOAD = 1000
    large: Any = {"CONTENT_LENGTH": str(2 * 1024 * 1024), "wsgi.input": Unreadable()}
    answer = program.generic("POST", VIDEOS, b"", content_type="multipart/form-data; boundary=b", **large)
    assert error_of(answer, 413) == ("too_large", "The body has 2097152 bytes; at most 1049576 are accepted.")
    settings.JOBS_VIDEO_MAX_UPLOAD = 0  # any
    assert upload(program).status_code == 201


def test_a_body_of_unknown_length_is_refused(program):
    answer = program.post(VIDEOS, {"file": a_file()}, headers={"Transfer-Encoding": "chunked"})
    assert error_of(answer, 411)[0] == "length_required"


class Unreadable:
    def read(self, *size: int) -> bytes:
        raise AssertionError("the body was read")

    readline = read


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
    assert error_of(program.get(f"{VIDEOS}?{query}"), 400)[0] == "invalid"


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
    assert (job.payload["qualities"], job.payload["strict"], job.payload["carry"]) == (None, False, None)


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
    told, message = error_of(post_json(program, f"{VIDEOS}/{video.pk}/retranscode", body), 400)
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


# Who may, and where


CALLS = {
    "list": ("GET", VIDEOS, "view_video"),
    "upload": ("POST", VIDEOS, "add_video"),
    "show": ("GET", f"{VIDEOS}/1", "view_video"),
    "remove": ("DELETE", f"{VIDEOS}/1", "delete_video"),
    "retranscode": ("POST", f"{VIDEOS}/1/retranscode", "change_video"),
}


@pytest.mark.parametrize(("method", "address", "permission"), CALLS.values(), ids=CALLS)
def test_each_call_needs_a_login_and_its_permission_and_no_other(client, method, address, permission):
    answer = client.generic(method, address)
    assert error_of(answer, 401) == ("not_authenticated", "Log in first.")
    assert "WWW-Authenticate" in answer
    others = client_of(*(set(ALL) - {permission}), name="others")
    assert error_of(others.generic(method, address), 403) == (
        "forbidden", f"This needs the permission videos.{permission}.",
    )  # fmt: skip
    allowed = client_of(permission, name="allowed").generic(method, address, content_type="application/json")
    assert allowed.status_code in (200, 404, 415)


def test_a_public_site_is_still_not_open_to_programs(client, settings):
    settings.JOBS_VIDEO_PUBLIC = True
    assert client.get(VIDEOS).status_code == 401
    assert client.post(VIDEOS, {"file": a_file()}).status_code == 401


def test_writes_of_a_browser_need_a_token_and_reads_do_not():
    client = client_of(*ALL, csrf=True)
    video = ready_video()
    writes = [("POST", VIDEOS), ("DELETE", f"{VIDEOS}/{video.pk}"), ("POST", f"{VIDEOS}/{video.pk}/retranscode")]
    for method, address in writes:
        code, message = error_of(client.generic(method, address), 403)
        assert (code, "X-CSRFToken" in message) == ("csrf", True)
    assert client.get(VIDEOS).status_code == 200
    assert Video.objects.exists()


def test_the_token_of_a_page_lets_a_browser_write():
    client = client_of(*ALL, csrf=True)
    video = ready_video(failed_qualities={"2160p": "The encoder died"})
    client.get("/videos/film/")
    token = {"X-CSRFToken": client.cookies["csrftoken"].value}
    assert client.post(VIDEOS, {"file": a_file()}, headers=token).status_code == 201
    assert client.delete(f"{VIDEOS}/{video.pk}", headers=token).status_code == 204


def test_an_upload_that_is_not_allowed_is_not_read(client):
    large: Any = {"CONTENT_LENGTH": "1000", "wsgi.input": Unreadable()}
    for caller in (client, client_of("view_video")):
        answer = caller.generic("POST", VIDEOS, b"", content_type="multipart/form-data; boundary=b", **large)
        assert answer.status_code in (401, 403)


@pytest.mark.parametrize(
    ("method", "address", "allowed"),
    [
        ("PUT", VIDEOS, "GET, POST"), ("DELETE", VIDEOS, "GET, POST"), ("POST", f"{VIDEOS}/1", "GET, DELETE"),
        ("PATCH", f"{VIDEOS}/1", "GET, DELETE"), ("GET", f"{VIDEOS}/1/retranscode", "POST"),
        ("OPTIONS", VIDEOS, "GET, POST"), ("BREW", VIDEOS, "GET, POST"),
    ],
)  # fmt: skip
def test_a_method_that_an_address_does_not_take_is_refused(program, method, address, allowed):
    answer = program.generic(method, address)
    assert error_of(answer, 405) == ("method_not_allowed", f"This address takes {allowed}, not {method}.")
    assert answer["Allow"] == allowed


def test_head_is_a_get_without_the_body(program):
    answer = program.head(VIDEOS)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("number", ["1", "0", "9" * 18, "9" * 40])
def test_a_video_that_is_not_there_is_not_found(program, number):
    for answer in (
        program.get(f"{VIDEOS}/{number}"),
        program.delete(f"{VIDEOS}/{number}"),
        post_json(program, f"{VIDEOS}/{number}/retranscode", {}),
    ):
        assert error_of(answer, 404) == ("not_found", f"There is no video {int(number)}.")


@pytest.mark.parametrize(
    "address", ["/", "/film", "/-1", "/1/", "/1/other", "/1/retranscode/", "/%00", "/1%2Fretranscodes"]
)
def test_other_addresses_are_not_found_and_say_so_in_json(program, address):
    for method in ("GET", "POST"):
        assert error_of(program.generic(method, VIDEOS + address), 404) == (
            "not_found", "There is nothing at this address.",
        )  # fmt: skip


def test_answers_are_not_kept_by_caches(program):
    assert "no-store" in program.get(VIDEOS)["Cache-Control"]
