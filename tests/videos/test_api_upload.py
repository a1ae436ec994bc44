"""Uploads over HTTP: what becomes a video, and one clear sentence for each mistake."""

from typing import Any

import pytest

from jobs.handlers.files import job_storage
from jobs.models import Job
from jobs.states import Status
from jobs.videos.models import Video
from tests.api.calls import Unreadable, error_of
from tests.videos.api_calls import CONTENT, VIDEOS, a_file, upload

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("site_folders")]


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
    code, message = error_of(upload(program, **fields), 422)
    assert (code, message[: len(sentence)]) == ("invalid", sentence)
    assert not Video.objects.exists()
    assert not Job.objects.exists()


def test_an_upload_without_anything_is_refused(program):
    assert error_of(program.post(VIDEOS, {}), 422)[1] == "Send one file in the field 'file'; there are none."


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
    assert answer.status_code in (400, 422)  # what is no form at all, and a form without a file
    error_of(answer, answer.status_code)
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
