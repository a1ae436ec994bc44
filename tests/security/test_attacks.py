"""Attacks by what is sent: filters, forms, bodies, sources. What was meant as data stays data."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from jobs.exceptions import CommandFailed
from jobs.handlers.base import Outcome, Spawn
from jobs.handlers.commands import Commands
from jobs.handlers.ffmpeg import find_ffmpeg
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.queues import pause
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.lifecycle.spawn import spawn
from jobs.models import Job
from jobs.states import Status
from jobs.videos.transcoding.commands import input_of, program
from jobs.videos.transcoding.confined import confinement
from tests.admin.visits import logged_in
from tests.api.calls import QUEUE, error_of, member, post_json, with_token
from tests.factories import claimed, job_in, make_periodic, make_worker
from tests.videos import bad_sources, sources
from tests.videos.shelf import make_video
from tests.videos.watching import listening, watched

pytestmark = pytest.mark.django_db
INJECTIONS = (
    "' OR 1=1 --",
    "%' OR '1'='1",
    "x'); DROP TABLE jobs_job; --",
    "{{7*7}}",
    "%",
    "_",
    "\\",
    "\x00",
    "1 UNION SELECT 1",
)
# What each list shows of its two rows, and by which words in its address it is filtered.
ROWS = {
    "jobs/job": ("a first film", "a second film"),
    "jobs/worker": ("worker-one", "worker-two"),
    "jobs/queue": ("queue-one", "queue-two"),
    "jobs/limit": ("scope-one", "scope-two"),
    "jobs/periodicjob": ("nightly-one", "nightly-two"),
    "jobs/webhookdelivery": ("one.example", "two.example"),
    "videos/video": ("A first video", "A second video"),
}
FILTERS = {"jobs/job": ("q", "queue", "kind", "state", "worker"), "videos/video": ("q",)}
FILTERS["jobs/webhookdelivery"] = ("host",)


@pytest.fixture(autouse=True)
def _static_files(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path


@pytest.fixture
def _rows() -> None:
    """Two of each, told apart by what nobody may ask about."""
    for number, (subject, queue, site) in enumerate(
        zip(ROWS["jobs/job"], ROWS["jobs/queue"], ROWS["jobs/webhookdelivery"], strict=True)
    ):
        payload = {"x": "pq"[number]}
        ended = claimed(kind="test.noop", payload=payload, queue=queue, subject=subject, webhook_url=f"https://{site}/")
        finish_one(Outcome.failed(ended, "broken", fatal=True))
        pause(queue)
        make_worker(ROWS["jobs/worker"][number], metadata=payload)
        set_limit("scope", ROWS["jobs/limit"][number], Rules(max_running=1 + number))
        make_periodic(ROWS["jobs/periodicjob"][number], payload=payload)
        make_video(f"film-{number}", title=ROWS["videos/video"][number])


def rows_in(answer: Any, page: str) -> int | None:
    """How many of its rows the list shows; None where it refuses the question."""
    if answer.status_code != 200:
        assert answer.status_code == 400 or answer["Location"].endswith("?e=1"), (page, answer.status_code)
        return None
    text = answer.content.decode()
    return sum(row in text for row in ROWS[page])


# Filters and orders


@pytest.mark.parametrize("value", INJECTIONS)
def test_no_filter_of_the_api_is_read_as_sql_or_finds_more_than_it_says(value: str):
    job_in(Status.FAILED, subject="a film")
    program = with_token(User.objects.create_superuser("anna", password=None))
    for name in ("search", "queue", "kind", "scope", "worker", "state", "cursor", "limit", "older_than"):
        answer = program.get(f"{QUEUE}/jobs", {name: value})
        assert answer.status_code in (200, 422), (name, answer.content)
        assert answer.status_code == 422 or answer.json()["jobs"] == [], name
    assert Job.objects.count() == 1


@pytest.mark.usefixtures("_rows")
@pytest.mark.parametrize("page", ROWS)
def test_no_filter_of_the_admin_is_read_as_sql_or_finds_more_than_it_says(page: str):
    """What is no filter there leaves the list as it is; a filter finds what has these words, and so nothing."""
    anna = logged_in(User.objects.create_superuser("anna", password=None))
    assert rows_in(anna.get(f"/admin/{page}/"), page) == 2
    for value in INJECTIONS:
        for name in ("q", "o", "p", "queue", "kind", "state", "status", "worker", "host", "all", "e"):
            found = rows_in(anna.get(f"/admin/{page}/", {name: value}), page)
            is_filter = name in FILTERS.get(page, ()) and value != "\x00"  # which no text has, and is left out
            assert found in ((0, None) if is_filter else (2, 0, None)), (name, value)
    assert rows_in(anna.get(f"/admin/{page}/"), page) == 2


@pytest.mark.usefixtures("_rows")
@pytest.mark.parametrize("page", ROWS)
@pytest.mark.parametrize(
    "lookup",
    [
        "password__startswith", "user__password__regex", "payload__x", "job__payload__has_key", "job__payload__x",
        "metadata__x", "last_worker__metadata__x", "title__startswith__x",
    ],
)  # fmt: skip
def test_no_list_is_filtered_by_what_it_does_not_show(lookup: str, page: str):
    viewer = logged_in(member(*(f"view_{each.rpartition('/')[2]}" for each in ROWS)))
    assert rows_in(viewer.get(f"/admin/{page}/"), page) == 2
    assert rows_in(viewer.get(f"/admin/{page}/", {lookup: "p"}), page) in (2, None)


@pytest.mark.parametrize("lookup", ["password", "password__startswith", "password__regex"])
def test_no_hash_of_a_password_is_guessed_letter_by_letter(lookup: str):
    viewer = logged_in(member("view_user"))
    assert viewer.get("/admin/auth/user/", {lookup: "p"}).status_code == 400
    assert viewer.get("/admin/auth/user/", {"username__startswith": "m"}).status_code == 200


# Ways back, bodies


@pytest.mark.parametrize(
    "address", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_nobody_is_sent_to_another_site(address: str):
    anna = logged_in(User.objects.create_superuser("anna", password="pass word"))
    failed = job_in(Status.FAILED)
    act = {"action": "retry", "_selected_action": failed.pk, "confirmed": 1, "next": address}
    answers = [
        anna.post("/admin/jobs/job/act/", act),
        anna.post("/admin/jobs/webhookdelivery/act/", {"_selected_action": 1, "next": address}),
        Client().post("/accounts/login/", {"username": "anna", "password": "pass word", "next": address}),
        Client().post("/admin/login/", {"username": "anna", "password": "pass word", "next": address}),
    ]
    for answer in answers:
        assert answer.status_code == 302
        assert "evil" not in answer["Location"]
        assert answer["Location"].startswith("/")


def test_a_bomb_is_not_unpacked():
    program = with_token(User.objects.create_superuser("anna", password=None))
    bomb = gzip.compress(json.dumps({"kind": "test.noop", "payload": {"x": "0" * 5_000_000}}).encode())
    assert len(bomb) < 10_000
    answer = post_json(program, f"{QUEUE}/enqueue", bomb, headers={"Content-Encoding": "gzip"})
    assert error_of(answer, 400)[0] == "malformed"


@pytest.mark.parametrize("token", ["", "x", "jyd_", "jyd_" + 60 * "a", "\x7f" * 300, "' OR 1=1 --"])
def test_no_guess_is_a_token(token: str):
    """And all wrong ones are answered alike."""
    with_token(User.objects.create_superuser("anna", password=None))
    guess = Client(headers={"Authorization": f"Bearer {token}"})
    assert error_of(guess.get(f"{QUEUE}/depth"), 401)[0] in ("token_unknown", "not_authenticated")


# Sources


@pytest.mark.once
@pytest.mark.parametrize("demuxer", ["mov", "matroska", "mpegts", "avi"])
@pytest.mark.parametrize("disguise", [bad_sources.write_playlist, bad_sources.write_concat_script])
def test_what_got_past_the_probe_still_reads_no_other_file(disguise: Any, demuxer: str, tmp_path: Path):
    """ffmpeg, as we call it, with a playlist where a video should be: the secret is in nothing that comes out."""
    secret = tmp_path / "secret.ts"
    secret.write_bytes(sources.container("ts", tmp_path).read_bytes() + b"hunter2" * 1000)
    made, ffmpeg = tmp_path / "made.mkv", find_ffmpeg()
    assert ffmpeg
    with listening() as listener, watched(secret) as watch:
        address = f"http://127.0.0.1:{listener.port}/x.ts"
        path = disguise(tmp_path / "video.mp4", str(secret), f"file:{secret}", f"concat:{secret}", address)
        argv = [*program(ffmpeg), *input_of(path, demuxer), "-c", "copy", f"file:{made}"]
        with pytest.raises(CommandFailed) as failed:
            Commands(lambda: None).run(argv, timeout=60, confinement=confinement())
        assert not watch.was_opened
        assert not listener.was_called
    assert "hunter2" not in str(failed.value)
    assert not made.exists() or b"hunter2" not in made.read_bytes()


# Workflows


def test_a_cancelled_job_leaves_no_child_behind_that_it_spawned_before_it_heard_of_it():
    ref = claimed()
    [early] = spawn(ref, [Spawn("test.noop", {}, "early")])
    cancel(ref.job_id)
    early, late = spawn(ref, [Spawn("test.noop", {}, "late")])
    assert (early.status, late.status) == (Status.CANCELLED, Status.CANCELLED)
    finish_one(Outcome.released(ref, "stopped"))
    assert set(Job.objects.values_list("status", flat=True)) == {Status.CANCELLED}
