"""Keys of remote workers: only a hash is stored, several count at once, and one ends when it should."""

import ast
import inspect
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import Q
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.bearer import digest_of, is_secret_of
from jobs.exceptions import InvalidInput
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.remote_workers import register
from jobs.lifecycle.worker_keys import make_key, revoke, rotate
from jobs.models import Worker, WorkerKey
from jobs.states import WorkerStatus, WorkerType
from jobs.wire.names import KEY_HEADER
from tests.api.calls import error_of, post_json
from tests.api.worker.calls import WORKER, Machine, machine
from tests.factories import age, make_worker, shift

pytestmark = pytest.mark.django_db
SECRET = "a secret of the administrator"


def beat(key: str, header: str = KEY_HEADER, before: str = "") -> int:
    return post_json(Client(), f"{WORKER}/stop", headers={header: before + key}).status_code


def test_a_key_says_who_calls_in_either_header_and_no_row_holds_its_text():
    worker, key, text = register("gpu-box")
    assert (worker.type, worker.status) == (WorkerType.REMOTE, WorkerStatus.OFFLINE)
    assert [beat(text), beat(text, "Authorization", "Bearer ")] == [200, 200]
    stored = WorkerKey.objects.filter(pk=key.pk).values().get()
    assert not [name for name, value in stored.items() if text.removeprefix(f"worker_{key.prefix}_") in str(value)]


@pytest.mark.parametrize("wrong", ["", "x", "worker_00000000_" + "a" * 43, "\N{SNOWMAN}" * 50, "x" * 5000])
def test_a_wrong_key_is_refused_in_the_same_words_whatever_is_wrong(wrong: str):
    answer = post_json(Client(), f"{WORKER}/heartbeat", headers={KEY_HEADER: wrong})
    code, message = error_of(answer, 401)
    assert (code, answer["WWW-Authenticate"].split()[0]) == ("bad_key", "Bearer")
    assert "register_worker" in message


def test_the_prefix_is_not_enough_and_every_candidate_is_compared():
    texts = []
    for name in ("a", "b"):
        _worker, key, text = register(name)
        texts.append(text.replace(key.prefix, "00000000"))
        WorkerKey.objects.filter(pk=key.pk).update(prefix="00000000", digest=digest_of(texts[-1]))
    assert [beat(text) for text in texts] == [200, 200]
    assert beat(texts[0][:-2] + ("AA" if texts[0][-2:] != "AA" else "BB")) == 401
    revoke(Q(worker__name="b"))
    assert [beat(text) for text in texts] == [200, 401]


def test_a_key_ends_at_the_next_call_when_it_is_revoked_or_expires():
    _worker, key, text = register("gpu-box", timedelta(hours=1))
    assert beat(text) == 200
    shift(WorkerKey, 3601)
    answer = post_json(Client(), f"{WORKER}/heartbeat", headers={KEY_HEADER: text})
    assert error_of(answer, 401)[0] == "key_expired"
    assert revoke(Q(pk=key.pk)) == []
    answer = post_json(Client(), f"{WORKER}/heartbeat", headers={KEY_HEADER: text})
    assert error_of(answer, 401)[0] == "key_revoked"


def test_several_keys_count_while_one_replaces_another():
    worker, _old, text = register("gpu-box", timedelta(days=365))
    _, soon = make_key(worker, timedelta(minutes=5))
    new, other = rotate(worker, timedelta(hours=1))
    assert [beat(key) for key in (text, soon, other)] == [200, 200, 200]
    shift(WorkerKey, 301)
    assert [beat(key) for key in (text, soon, other)] == [200, 401, 200]
    shift(WorkerKey, 3600)
    assert [beat(key) for key in (text, soon, other)] == [401, 401, 200]
    assert revoke(Q(worker=worker)) == [new.prefix]


def test_the_use_of_a_key_is_noted_once_a_minute():
    _, _, text = register("gpu-box")
    beat(text)
    assert WorkerKey.objects.get().last_used_at
    with CaptureQueriesContext(connection) as asked:
        beat(text)
    assert not [
        query for query in asked.captured_queries if "UPDATE" in query["sql"] and "last_used_at" in query["sql"]
    ]
    WorkerKey.objects.update(last_used_at=None)
    beat(text)
    assert WorkerKey.objects.get().last_used_at


def test_a_worker_with_the_database_at_hand_gets_no_key():
    with pytest.raises(InvalidInput, match="needs no key"):
        make_key(make_worker())


def test_a_worker_with_a_valid_key_is_never_pruned():
    register("kept")
    register("gone")
    revoke(Q(worker__name="gone"))
    age(400 * 86_400)
    assert prune_once().workers_deleted == 1
    assert [worker.name for worker in Worker.objects.all()] == ["kept"]


# Registered over HTTP


def registering(body: object, secret: str = SECRET) -> object:
    return post_json(Client(), f"{WORKER}/register", body, headers={"X-Admin-Secret": secret} if secret else {})


def test_who_shows_the_administrators_secret_registers_a_worker(monkeypatch: pytest.MonkeyPatch):
    assert error_of(registering({"name": "a"}), 503)[0] == "not_configured"
    monkeypatch.setenv("JOBS_WORKER_ADMIN_SECRET", SECRET)
    assert error_of(registering({"name": "a"}, ""), 401)[0] == "not_authenticated"
    assert error_of(registering({"name": "a"}, "another secret of mine"), 403)[0] == "forbidden"
    assert not Worker.objects.exists()
    told = registering({"name": "a"}).json()  # type: ignore[attr-defined]
    assert told.keys() == {"worker_id", "name", "key"}
    assert Machine(told["worker_id"], told["key"]).start().status_code == 200


def test_registered_twice_it_is_one_worker_and_no_key_is_left_that_nobody_has(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JOBS_WORKER_ADMIN_SECRET", SECRET)
    lost, known = (registering({"name": "a"}).json() for _ in range(2))  # type: ignore[attr-defined]
    assert lost["worker_id"] == known["worker_id"]
    assert [beat(told["key"]) for told in (lost, known)] == [401, 200]
    third = registering({"name": "a"}).json()  # type: ignore[attr-defined]
    assert [beat(told["key"]) for told in (known, third)] == [200, 200]


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": " "}, {"name": "n" * 201}, {"name": "\x00"}, {"name": 5}, {"name": "a", "x": 1},
             {"name": "a", "expires_in": 0}, [], "x"],
)  # fmt: skip
def test_what_cannot_be_registered_is_refused(body: object, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JOBS_WORKER_ADMIN_SECRET", SECRET)
    assert registering(body).status_code in (400, 422)  # type: ignore[attr-defined]
    assert not Worker.objects.exists()


def test_the_secret_cannot_be_guessed_for_long(monkeypatch: pytest.MonkeyPatch, settings):
    monkeypatch.setenv("JOBS_WORKER_ADMIN_SECRET", SECRET)
    settings.JOBS_WORKER_WRONG_KEYS = 3
    assert [registering({"name": "a"}, "wrong").status_code for _ in range(4)] == [403, 403, 403, 429]  # type: ignore[attr-defined]
    assert machine("b").worker.name == "b"


def test_secrets_are_compared_in_constant_time():
    """No clock could tell it of a few bytes: the digests go to `compare_digest`, and nothing else looks at them."""
    [function] = ast.parse(inspect.getsource(is_secret_of)).body
    calls = [ast.unparse(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)]
    assert calls == ["hmac.compare_digest", "digest_of"]
    assert not [node for node in ast.walk(function) if isinstance(node, ast.Compare)]
