"""docs/access.md: its tables of who may do what are what the site does, and no address is missing from them."""

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from jobs.api.docs_page import openapi
from jobs.handlers.periodic import Declaration
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.periodic.sync import sync
from jobs.lifecycle.queues import pause
from jobs.lifecycle.remote_workers import register
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.models import Job, PeriodicJob, Queue, WebhookDelivery
from jobs.states import Status
from jobs.videos.models import Video
from jobs.wire.names import CLAIM_HEADER, KEY_HEADER
from tests.api.operations import OPERATIONS
from tests.factories import claimed, job_in

pytestmark = [pytest.mark.once, pytest.mark.django_db]
PAGE = (Path(settings.BASE_DIR) / "docs" / "access.md").read_text()
TABLE = re.compile(r"^\| address \|(?P<roles>[^\n]+)\|\n\|[^\n]+\n(?P<rows>(?:\| `[^\n]+\|\n)+)", re.MULTILINE)
HELD = {"job_id": "{held}", "claim_id": "{claim}"}  # by worker A
WORKER_BODIES: dict[str, Any] = {
    "register": {"name": "c"},
    "start": {"process": str(uuid4()), "hostname": "far", "pid": 7, "boot_id": str(uuid4())},
    "claim": {"claim_id": str(uuid4())},
    "heartbeat": {"claims": [HELD], "reports": [{"claim": HELD, "progress": 5}]},
    "finish": {"outcomes": [{"claim": HELD, "verdict": "completed"}]},
    "workdirs": {"jobs": ["{held}"]},
    "{held}/checkpoint": {"checkpoint": 1},
    "{held}/fail": {"error": "broken"},
}
BODIES = {f"/api/queue{operation.path.replace('job_id', 'job')}": operation.body for operation in OPERATIONS.values()}
BODIES |= {f"/api/worker/{path}": body for path, body in WORKER_BODIES.items()}

FORMS = {
    f"/admin/jobs/{model}/act/": form
    for model, form in {
        "job": "action=retry&confirmed=1&_selected_action={job}",
        "limit": "action=lift&target=queue&name=media",
        "periodicjob": "action=run_now&name=nightly",
        "queue": "action=resume&queue=media",
        "webhookdelivery": "_selected_action={message}",
        "worker": "action=disable&_selected_action={worker}",
    }.items()
}
FORMS |= {
    "/accounts/login/": "username=someone&password=wrong",
    "/admin/login/": "username=someone&password=wrong",
    "/admin/auth/user/add/": "username=new&usable_password=false",
    "/admin/auth/user/{user}/password/": "usable_password=true&password1=Zq8.kfm2&password2=Zq8.kfm2",
    "/admin/jobs/worker/add/": "name=new",
    "/admin/jobs/periodicjob/add/": "name=new&kind=test.noop&schedule=0+3+*+*+*&timezone=UTC&args={{}}&arguments={{}}",
    "/admin/videos/video/": "action=transcode_again&_selected_action={video}",
}
# How the views are named that take a form; of the admin's, all but histories and what only leads elsewhere.
TAKES_FORM = re.compile(r"(^|_)(add|change|delete|changelist|login|logout|act|transcode)$")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def rows() -> Iterator[tuple[str, str, dict[str, int]]]:
    """Method, address, and the answer for each role."""
    for table in TABLE.finditer(PAGE):
        for line in table["rows"].splitlines():
            address, *answers = cells(line)
            method, path = address.strip("`").split(" ")
            yield method, path, dict(zip(cells(table["roles"]), map(int, answers), strict=True))


ROWS = list(rows())


def with_permissions(name: str, *verbs: str) -> User:
    user = User.objects.create_user(name, is_staff=True)
    for verb in verbs:
        user.user_permissions.add(
            *Permission.objects.filter(content_type__app_label__in=("jobs", "videos"), codename__startswith=f"{verb}_")
        )
    return user


def logged_in(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def by_key(name: str) -> Client:
    """A remote worker, of the key that it is given; both know of the claim that one of them has.

    The key is shown as a token, too: who is let in by that would be let in everywhere.
    """
    worker, _, key = register(name)
    heartbeat(worker.pk)
    worker.refresh_from_db()
    held = Job.objects.get(status=Status.RUNNING) if Job.objects.filter(status=Status.RUNNING) else None
    claim = held.claim_id if held else claimed(worker, queue="held").claim_id
    return Client(headers={KEY_HEADER: key, CLAIM_HEADER: str(claim), "Authorization": f"Bearer {key}"})


ROLES: dict[str, Callable[[], Client]] = {
    "nobody": Client,
    "user": lambda: logged_in(User.objects.create_user("user")),
    "staff": lambda: logged_in(with_permissions("staff")),
    "viewer": lambda: logged_in(with_permissions("viewer", "view")),
    "operator": lambda: logged_in(with_permissions("operator", "view", "change")),
    "admin": lambda: logged_in(User.objects.create_superuser("admin")),
    "worker A": lambda: by_key("a"),
    "worker B": lambda: by_key("b"),
}


@pytest.fixture
def names(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the words in braces stand for: something of each sort, so that whoever may gets an answer."""
    settings.STATIC_ROOT, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    settings.JOBS_WORKER_WRONG_KEYS = 0  # any number: strangers ask often here
    monkeypatch.setenv("JOBS_WORKER_ADMIN_SECRET", 40 * "s")
    job = job_in(Status.FAILED, webhook_url="https://example.org/")
    pause("media")
    sync([Declaration("nightly", "test.noop", "0 3 * * *", "UTC", {})], ["test.noop"])
    video = Video.objects.create(title="Film", slug="film", source_name="film.mkv", source_size=1)
    return {
        "job": job.pk, "worker": job.last_worker_id, "queue": Queue.objects.get().pk, "video": video.pk,
        "limit": set_limit("queue", "media", Rules(max_running=1)).pk, "periodic": PeriodicJob.objects.get().pk,
        "message": WebhookDelivery.objects.get().pk,
        "user": User.objects.create_user("someone").pk, "group": Group.objects.create(name="some").pk,
    }  # fmt: skip


def filled(body: Any, names: dict[str, Any]) -> Any:
    """With what the words in braces stand for."""
    if isinstance(body, dict):
        return {name: filled(value, names) for name, value in body.items()}
    if isinstance(body, list):
        return [filled(value, names) for value in body]
    return names[body.strip("{}")] if isinstance(body, str) and body.startswith("{") else body


def answer(client: Client, method: str, path: str, names: dict[str, Any]) -> int:
    """What is changed by it is undone: the next one asks for the same."""
    if path in FORMS:
        sent, kind = FORMS[path].format(**names), "application/x-www-form-urlencoded"
    else:
        sent, kind = json.dumps(filled(BODIES.get(path, {}), names)), "application/json"
    session = deepcopy(client.cookies)  # a new password begins another one, which is undone, too
    with transaction.atomic():
        given = sent if method in ("POST", "PUT") else ""
        status: int = client.generic(method, path.format(**names), given, content_type=kind).status_code
        transaction.set_rollback(True)
    client.cookies = session
    return status


def test_everybody_is_in_every_table():
    assert {path: told for _, path, told in ROWS if list(told) != list(ROLES)} == {}


def test_everybody_is_answered_as_the_tables_say(names: dict[str, Any]):
    clients = {role: make() for role, make in ROLES.items()}
    held = Job.objects.get(status=Status.RUNNING)
    names |= {"held": held.pk, "claim": str(held.claim_id), "path": "a.txt"}
    wrong = []
    for method, path, told in ROWS:
        found = {role: answer(clients[role], method, path, names) for role in told}
        if found != told:
            wrong.append(f"{method} {path}: {found}, but the page says {told}")
    assert wrong == []


def views(resolver: URLResolver, before: str = "") -> Iterator[tuple[str, str]]:
    """The route of each, and its name."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from views(pattern, before + str(pattern.pattern))
        elif isinstance(pattern, URLPattern):
            route = str(pattern.pattern)
            yield before + (route.removeprefix("^") if before else route), pattern.name or ""  # as a match tells it


def asked(*methods: str) -> set[str]:
    """The routes that the tables ask by one of these methods."""
    paths = [path.split("?")[0] for method, path, _ in ROWS if method in methods]
    return {get_resolver().resolve(re.sub(r"{\w+}", "1", path)).route for path in paths}


def test_every_address_of_the_site_is_in_a_table():
    exist = {route for route, _ in views(get_resolver())}
    assert len(exist) > 80
    assert exist - asked("GET", "POST", "PUT", "DELETE") == set()


def test_every_form_of_the_site_is_sent_in_a_table():
    exist = {route for route, name in views(get_resolver()) if TAKES_FORM.search(name)}
    assert len(exist) > 40
    assert exist - asked("POST") == set()


def test_every_operation_of_the_apis_is_in_a_table():
    asked = {(method, re.sub(r"{\w+}", "{}", path)) for method, path, _ in ROWS}
    told = openapi()["paths"].items()
    exist = {(method.upper(), re.sub(r"{\w+}", "{}", path)) for path, methods in told for method in methods}
    assert len(exist) > 10
    assert exist - asked == set()
