"""Health: alive, ready, and how the whole is; what is missing is named, and nothing secret is."""

import shutil
from collections import namedtuple

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from jobs.lifecycle.reap import reap_once
from tests.dispatch.fixtures import redis_server
from tests.factories import age, make_job, make_worker

__all__ = ["redis_server"]
pytestmark = pytest.mark.django_db
Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def _places(settings, tmp_path):
    settings.STATIC_ROOT, settings.MEDIA_ROOT = tmp_path / "static", tmp_path
    settings.STATIC_ROOT.mkdir()


class Unreachable:
    """A database that does not answer: whoever asks it anything gets the driver's error."""

    def __call__(self, execute, sql, params, many, context):
        raise DatabaseError('connection to "10.0.0.7" failed: password authentication failed for user "jobyard"')


@pytest.fixture
def _no_database():
    with connection.execute_wrapper(Unreachable()):
        yield


def test_all_is_well(client: Client):
    make_worker()
    make_job()
    reap_once()
    answer = client.get("/api/health")
    assert answer.status_code == 200
    body = answer.json()
    assert body["status"] == "ok"
    assert body["workers"] == {"ok": True, "live": 1, "active": 0, "idle": 1, "busy": 0, "offline": 0, "disabled": 0}
    assert (body["queue"]["pending"], body["queue"]["ok"]) == (1, True)
    assert body["reaper"]["last_reap_seconds_ago"] < 20
    assert body["storage"]["free_bytes"] > 0
    assert client.get("/health/ready").json() == {"status": "ok"}


@pytest.mark.usefixtures("_no_database")
def test_without_a_database_it_lives_and_is_not_ready(client: Client):
    assert client.get("/health/live").status_code == 200
    for address in ("/health/ready", "/api/health"):
        answer = client.get(address)
        assert answer.status_code == 503
        assert answer.json()["reason"] == "database: it does not answer"
        assert b"10.0.0.7" not in answer.content


def test_tables_that_are_older_than_the_code_are_not_ready(client: Client):
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'jobs'")
    answer = client.get("/health/ready")
    assert answer.status_code == 503
    assert "manage.py migrate" in answer.json()["reason"]


def test_what_is_good_to_know_makes_nobody_unready(client: Client, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(1000, 990, 10))
    answer = client.get("/api/health")
    assert answer.status_code == 200
    body = answer.json()
    assert body["workers"]["problem"] == "none is running"
    assert body["reaper"]["problem"].startswith("nobody has looked for crashed workers lately")
    assert body["storage"]["problem"] == "only 1% is free"


def test_a_reaper_that_is_late_is_told(client: Client, settings):
    reap_once()
    age(181)
    assert "problem" in client.get("/api/health").json()["reaper"]
    settings.JOBS_REAP_INTERVAL = 0  # who reaps is somebody else's affair
    assert "problem" not in client.get("/api/health").json()["reaper"]


@pytest.mark.parametrize("address", ["/health/live", "/health/ready", "/api/health"])
def test_they_are_only_read_and_never_cached(client: Client, address):
    assert client.post(address).status_code == 405
    assert "no-store" in client.get(address)["Cache-Control"]


def test_probes_are_not_sent_to_https(client: Client, settings):
    settings.SECURE_SSL_REDIRECT = True
    assert client.get("/health/ready").status_code == 200
    assert client.get("/api/health").status_code == 301


@pytest.mark.once
def test_redis_is_told_where_it_is_used_and_makes_nobody_unready(client: Client, settings, redis_server):
    assert client.get("/api/health").json()["redis"] == {"ok": True, "dispatch": "redis"}
    redis_server.kill()
    answer = client.get("/api/health")
    assert answer.status_code == 200
    assert answer.json()["redis"]["problem"] == "it does not answer: workers poll"
    settings.JOBS_DISPATCH = "auto"
    assert "redis" not in client.get("/api/health").json()
