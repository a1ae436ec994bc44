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
from jobs.lifecycle.spawn import spawn
from jobs.models import Job
from jobs.states import Status
from jobs.videos.transcoding.commands import input_of, program
from jobs.videos.transcoding.confined import confinement
from tests.admin.visits import logged_in
from tests.api.calls import QUEUE, error_of, member, post_json, with_token
from tests.factories import claimed, job_in
from tests.videos import bad_sources, sources
from tests.videos.watching import listening, watched

pytestmark = [pytest.mark.once, pytest.mark.django_db]
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
LISTS = (
    "jobs/job",
    "jobs/worker",
    "jobs/queue",
    "jobs/limit",
    "jobs/periodicjob",
    "jobs/webhookdelivery",
    "videos/video",
)


@pytest.fixture(autouse=True)
def _static_files(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path


# Filters and orders


@pytest.mark.parametrize("value", INJECTIONS)
def test_no_filter_is_read_as_sql_or_finds_more_than_it_says(value: str):
    job_in(Status.FAILED, subject="a film")
    anna = logged_in(User.objects.create_superuser("anna", password=None))
    program = with_token(User.objects.get())
    for name in ("search", "queue", "kind", "scope", "worker", "state", "cursor", "limit", "older_than"):
        answer = program.get(f"{QUEUE}/jobs", {name: value})
        assert answer.status_code in (200, 422), (name, answer.content)
        assert answer.status_code == 422 or answer.json()["jobs"] == [], name
    for page in LISTS:
        for name in ("q", "o", "p", "queue", "kind", "state", "status", "worker", "host", "all", "e"):
            assert anna.get(f"/admin/{page}/", {name: value}).status_code in (200, 302, 400), (page, name)
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    "lookup", ["password__startswith", "user__password__regex", "payload__x", "job__payload__has_key"]
)
def test_no_list_is_filtered_by_what_it_does_not_show(lookup: str):
    """Else who may see a list of users could guess a password's hash letter by letter."""
    viewer = logged_in(member("view_user", "view_job", "view_video", "view_worker"))
    for page in ("auth/user", *LISTS):
        answer = viewer.get(f"/admin/{page}/", {lookup: "p"})
        assert answer.status_code in (200, 302, 400, 403), page
        if answer.status_code == 200 and page == "auth/user":
            pytest.fail("the list of users was filtered by a hash")


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
