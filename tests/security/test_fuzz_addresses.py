"""Videos, live streams, health and metrics, asked for in every way: no fault of ours, and errors in one shape."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from jobs.states import Status
from jobs.videos.models import Video
from tests.api.calls import with_token
from tests.factories import job_in
from tests.security.trying import trying
from tests.videos.shelf import ready_video

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]  # which minds more than SQLite does
FEW = 40
METHODS = st.sampled_from([*["GET"] * 6, "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "é"])
NUMBERS = st.sampled_from(
    ["0", "1", "-1", "1,2", "٣", "1.5", "9" * 19, "9" * 30, str(2**63), str(2**63 - 1), "1e3", " 1"]
)
WORDS = NUMBERS | st.sampled_from(["true", "false", "\x00", "media", "x" * 5000, "%", ""]) | st.text(max_size=10)
NAMES = st.sampled_from(["once", "after", "queue", "ids", "limit", "before", "page", "x"])
QUERIES = st.dictionaries(NAMES, WORDS | st.lists(WORDS, max_size=3), max_size=3)
HEADERS = st.dictionaries(
    st.sampled_from(["Last-Event-ID", "Accept", "Range", "If-None-Match", "X-Forwarded-For", "Content-Encoding"]),
    NUMBERS | st.sampled_from(["application/json", "text/event-stream", "application/openmetrics-text", "*/*;q=x", ""]),
    max_size=2,
)
OPEN = ("/health/live", "/health/ready", "/api/health", "/metrics")
STREAMS = ("/api/events/jobs", "/api/events/jobs/{id}", "/api/events/workers", "/api/events/{id}")
VIDEOS = ("/api/videos", "/api/videos/{id}", "/api/videos/{id}/retranscode", "/api/videos/{id}/x")
NO_STREAMS = 501  # what these clients speak holds none: docs/live.md


@pytest.fixture(autouse=True)
def _site(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    job_in(Status.FAILED, queue="media")


@pytest.fixture
def program() -> Client:
    return with_token(User.objects.create_superuser("anna", password=None))


def undone(call: Any) -> Any:
    with transaction.atomic():
        answer = call()
        transaction.set_rollback(True)
    return answer


def check(answer: Any, *also: int) -> None:
    assert answer.status_code < 500 or answer.status_code in also, answer.content
    if answer.status_code >= 400 and answer.content and answer["Content-Type"] == "application/json":
        assert answer.json()["error"].keys() >= {"code", "message"}


@trying(FEW)
@given(st.sampled_from(OPEN), METHODS, QUERIES, HEADERS, st.sampled_from(["", "Bearer x", "Bearer é", "Basic \x7f"]))
def ask_openly(path: str, method: str, query: Any, headers: dict[str, str], shown: str) -> None:
    answer = undone(
        lambda: Client().generic(method, path, headers={**headers, "Authorization": shown}, query_params=query)
    )
    check(answer)
    assert answer.status_code in (200, 401, 405)


def test_health_and_metrics():
    ask_openly()


@pytest.mark.parametrize("token", ["a token of the metrics"])
def test_metrics_behind_a_token(token: str, settings: LazySettings):
    settings.JOBS_METRICS_TOKEN = token
    ask_openly()
    assert Client().get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_streams(program: Client):
    @trying(2 * FEW)
    @given(st.sampled_from(STREAMS), NUMBERS, METHODS, QUERIES, HEADERS)
    def ask(path: str, number: str, method: str, query: Any, headers: dict[str, str]) -> None:
        address = path.replace("{id}", number)
        answer = undone(lambda: program.generic(method, address, headers=headers, query_params=query))
        check(answer, NO_STREAMS)
        assert answer.status_code != NO_STREAMS or answer.json()["error"]["code"] == "no_streams"

    ask()
    assert program.get("/api/events/jobs?once=1").status_code == 200


BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["360p", "\x00", "\ud800"]) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["qualities", "strict", "x"]), inner),
    max_leaves=5,
)  # fmt: skip
TYPES = st.sampled_from(["application/json", "application/json", "multipart/form-data", "text/plain", ""])


def test_videos(program: Client):
    video = ready_video()
    numbers = NUMBERS | st.just(str(video.pk))

    @trying(2 * FEW)
    @given(st.sampled_from(VIDEOS), numbers, METHODS, QUERIES, BODIES.map(json.dumps) | st.text(max_size=20), TYPES)
    def ask(path: str, number: str, method: str, query: Any, body: str, kind: str) -> None:
        address, data = path.replace("{id}", number), body.encode("utf-8", "replace")
        check(undone(lambda: program.generic(method, address, data, content_type=kind, query_params=query)))

    ask()
    assert program.get(f"/api/videos/{video.pk}").status_code == 200


FORMS = st.dictionaries(
    st.sampled_from(["title", "qualities", "strict", "force", "x"]), WORDS | st.lists(WORDS, max_size=2), max_size=3
)
FILES = st.dictionaries(
    st.sampled_from(["file", "file", "other"]),
    st.tuples(st.text(min_size=1, max_size=20) | WORDS, st.binary(max_size=100)),
    max_size=2,
)


def test_uploads_of_videos(program: Client, tmp_path: Path):
    """Nothing is stored of one that is refused."""

    @trying(FEW)
    @given(FORMS, FILES)
    def upload(form: dict[str, Any], files: dict[str, tuple[str, bytes]]) -> None:
        sent = {name: SimpleUploadedFile(called or "x", content) for name, (called, content) in files.items()}
        before = {path for path in tmp_path.rglob("*") if path.is_file()}
        answer = undone(lambda: program.post("/api/videos", {**form, **sent}))
        check(answer)
        if answer.status_code >= 400:
            assert {path for path in tmp_path.rglob("*") if path.is_file()} == before

    upload()
    answer = program.post("/api/videos", {"file": SimpleUploadedFile("film.mkv", b"a film"), "title": "A film"})
    assert (answer.status_code, Video.objects.get().title) == (201, "A film")
