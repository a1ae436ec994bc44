"""Who may use the HTTP API, and what is answered where nothing is."""

from typing import Any

import pytest
from django.test import Client

from jobs.videos.models import Video
from tests.api.calls import Unreadable, error_of, member, post_json, with_token
from tests.videos.api_calls import ALL, VIDEOS, a_file, upload
from tests.videos.shelf import client_of, ready_video

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("site_folders")]


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
    assert error_of(answer, 401)[0] == "not_authenticated"
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


def test_a_program_with_a_token_needs_neither_a_session_nor_to_be_staff():
    uploader = member("add_video", is_staff=False)
    assert upload(with_token(uploader)).status_code == 201
    assert error_of(with_token(uploader, "second").get(VIDEOS), 403)[0] == "forbidden"
    assert Client(headers={"Authorization": "Bearer wrong"}).get(VIDEOS).status_code == 401


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
