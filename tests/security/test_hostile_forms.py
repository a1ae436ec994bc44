"""Each form, list and page of the admin, with what no database can take: refused, or nothing is found."""

from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from jobs.handlers.base import Outcome
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.queues import pause
from jobs.lifecycle.remote_workers import register
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.models import Queue
from tests.admin.visits import logged_in
from tests.factories import claimed, make_periodic
from tests.security.hostile import WORDS, fault
from tests.videos.shelf import make_video

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]  # which minds more than SQLite does
JOB = {"action": "retry", "confirmed": "1", "_selected_action": "1"}
LIMIT = {"target": "scope", "name": "library", "reason": "so"}
FORMS: dict[str, list[dict[str, str]]] = {
    "/admin/jobs/job/act/": [
        JOB,
        {**JOB, "action": "priority", "priority": "5"},
        {**JOB, "action": "move", "queue": "media", "next": "/admin/"},
        {"action": "cancel", "across": "1", "which": "queue=media", "after": "0", "upto": "9"},
    ],
    "/admin/jobs/queue/act/": [{"action": action, "queue": "media", "reason": "so"} for action in ("pause", "resume")],
    "/admin/jobs/limit/act/": [
        *({"action": action, **LIMIT} for action in ("pause", "resume", "lift")),
        {"action": "set", **LIMIT, "max_running": "1", "rate": "5/m", "window": "22:00-06:00", "time_zone": "UTC"},
    ],
    "/admin/jobs/periodicjob/act/": [{"action": "run_now", "name": "nightly", "single": "1"}],
    "/admin/jobs/periodicjob/add/": [
        {"name": "hourly", "kind": "test.noop", "schedule": "every 1h", "timezone": "UTC", "payload": "{}"}
    ],
    "/admin/jobs/periodicjob/{periodic}/change/": [{"schedule": "every 2h", "timezone": "UTC", "payload": "{}"}],
    "/admin/jobs/webhookdelivery/act/": [{"_selected_action": "1", "next": "/admin/"}],
    "/admin/jobs/worker/act/": [{"action": "disable", "_selected_action": "{worker}"}],
    "/admin/jobs/worker/add/": [{"name": "far", "days": "3"}],
    "/admin/jobs/worker/{worker}/change/": [{"do": "revoke", "prefix": "0123abcd"}],
    "/admin/videos/video/{video}/change/": [{"title": "Another"}],
    "/videos/film/transcode": [{"quality": "720p"}],
    "/accounts/login/": [{"username": "anna", "password": "x", "next": "/"}],
    "/admin/login/": [{"username": "anna", "password": "x", "next": "/"}],
}
LISTS = {
    "/admin/jobs/job/": ("q", "queue", "kind", "scope", "worker", "time", "state", "before", "after"),
    "/admin/jobs/worker/": ("status",),
    "/admin/jobs/webhookdelivery/": ("status", "host", "job", "before"),
    "/admin/videos/video/": ("q", "status", "p", "o", "title", "slug", "id", "id__gt", "source_size", "version__in"),
    "/videos/": ("page",),
    "/dashboard/": ("part",),
}
KEYS = ("%00", "_00", "a_00b", str(2**63), "9" * 30, "x" * 2000)
MODELS = ("job", "limit", "periodicjob", "queue", "webhookdelivery", "worker")


@pytest.fixture
def names(settings: LazySettings, tmp_path: Path) -> dict[str, Any]:
    settings.STATIC_ROOT, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one is slow by design
    finish_one(Outcome.failed(claimed(queue="media"), "broken", fatal=True))
    pause("media")
    set_limit("scope", "library", Rules(max_running=1))
    worker, _, _ = register("remote")
    return {"periodic": make_periodic().pk, "worker": worker.pk, "video": make_video().pk}


@pytest.fixture
def anna(names: dict[str, Any]) -> Client:
    return logged_in(User.objects.create_superuser("anna", password=None))


@pytest.mark.parametrize("address", FORMS)
def test_no_field_of_a_form_is_a_fault_of_ours(address: str, anna: Client, names: dict[str, Any]):
    path, wrong = address.format(**names), []
    for form in FORMS[address]:
        right = {name: value.format(**names) if "{}" not in value else value for name, value in form.items()}
        for sent in (right, *({**right, name: word} for name in right for word in WORDS)):
            found = fault(anna.post, path, sent)
            wrong += [(sent, found)] if found else []
    assert wrong == []


@pytest.mark.parametrize("address", LISTS)
def test_no_filter_of_a_list_is_a_fault_of_ours(address: str, anna: Client):
    asked = [{name: word} for name in LISTS[address] for word in WORDS]
    assert [(query, wrong) for query in asked if (wrong := fault(anna.get, address, query))] == []


@pytest.mark.parametrize("page", ["", "change/", "history/", "delete/"])
def test_no_key_in_an_address_is_a_fault_of_ours(page: str, anna: Client):
    addresses = [f"/admin/jobs/{model}/{key}/{page}" for model in MODELS for key in KEYS]
    addresses += [f"/admin/videos/video/{key}/{page}" for key in KEYS]
    assert [(path, wrong) for path in addresses if (wrong := fault(anna.get, path))] == []


def test_the_pages_of_a_queue_are_found_by_its_name(anna: Client):
    """As above, but of one that is there: what is refused is not refused to all."""
    assert Queue.objects.get().pk == "media"
    assert anna.get("/admin/jobs/queue/media/history/").status_code == 200
    assert anna.get("/admin/jobs/queue/_00/history/").status_code == 302
