"""Each field of each call, each parameter and each number in an address, with what no database can take."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client

from jobs.api.worker.budgets import budgets
from jobs.states import Status
from jobs.wire.names import CLAIM_HEADER
from tests.api.calls import with_token
from tests.api.worker.calls import Machine, machine
from tests.factories import job_in, make_job
from tests.security.hostile import WORDS, Operation, Schema, body_of, fault, operations, plain, spoiled

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]  # which minds more than SQLite does
QUEUE, WORKER = operations("/api/queue/"), operations("/api/worker/")
WITH_BODY = {each: told for each, told in (QUEUE | WORKER).items() if body_of(told)}
ADDRESSES = ("/api/videos/{}", "/api/videos/{}/retranscode", "/api/events/jobs/{}?once=1")
OF_READS = {"/api/queue/jobs", "/api/queue/depth"}
IDS = (0, 2**31, 2**63 - 1, 2**63, 10**30, 10**3000)


@pytest.fixture(autouse=True)
def _site(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.STATIC_ROOT, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    monkeypatch.setenv("JOBS_WORKER_ADMIN_SECRET", "a secret of the administrator")
    budgets.forget()


@pytest.fixture
def program() -> Client:
    return with_token(User.objects.create_superuser("anna", password=None))


def named(operation: Operation) -> str:
    return " ".join(operation)


def test_there_is_a_body_to_spoil_in_both_apis():
    paths = {path for _, path in WITH_BODY}
    assert {"/api/queue/enqueue", "/api/worker/claim", "/api/worker/{job_id}/progress"} <= paths


@pytest.mark.parametrize("operation", WITH_BODY, ids=named)
def test_no_field_of_a_body_is_a_fault_of_ours(operation: Operation, program: Client):
    """A job waits beside the one that is held, so that a claim looks at what it may take."""
    caller = machine("caller")
    job = make_job()
    claim_id = caller.claimed(job)
    make_job()
    known = {
        "claim_id": claim_id, "job_id": job.pk, "process": str(caller.process), "kind": "test.noop", "jobs": [job.pk],
        "kinds": [], "queue": "default", "queues": [], "isolated_limit": 0, "run_after": "2031-05-01T12:00:00+00:00",
        "unique": "active", "backoff": "fixed", "webhook_url": "", "accelerator": "", "after": [],
        "on_parent_failure": "cancel", "wait": 0,
    }  # fmt: skip
    if operation[1].endswith("/claim"):
        known["claim_id"] = str(uuid4())
    schema: Schema = body_of(WITH_BODY[operation]) or {}
    right = plain("", schema, known)
    calls = [
        (body, sender(operation, body, caller, job.pk, claim_id, program)) for body in (right, *spoiled(right, schema))
    ]
    assert len(calls) > 2
    assert [(body, wrong) for body, call in calls if (wrong := fault(call))] == []


def sender(operation: Operation, body: Any, caller: Machine, job_id: int, claim_id: str, program: Client) -> Any:
    method, path = operation
    headers = {**caller.headers, CLAIM_HEADER: claim_id, "X-Admin-Secret": "a secret of the administrator"}
    client = program if path.startswith("/api/queue/") else Client(headers=headers)
    address, data = path.replace("{job_id}", str(job_id)), json.dumps(body)
    return lambda: client.generic(method, address, data, content_type="application/json")


def test_no_parameter_is_a_fault_of_ours(program: Client):
    job_in(Status.FAILED, subject="a film")
    names = {path: [each["name"] for each in QUEUE["GET", path].get("parameters", [])] for path in OF_READS}
    names |= {"/api/videos": ["limit", "before"], "/api/events/workers": ["once", "after"]}
    names["/api/events/jobs"] = ["once", "after", "queue", "ids"]
    assert len(names["/api/queue/jobs"]) > 5
    asked = [
        (path, {"once": "1", name: word}) for path, all_of_it in names.items() for name in all_of_it for word in WORDS
    ]
    asked += [(path, {name: word}) for path, all_of_it in names.items() for name in all_of_it for word in WORDS]
    wrong = [(path, query, fault(program.get, path, query)) for path, query in asked]
    assert [each for each in wrong if each[2] and "no_streams" not in each[2]] == []


def test_no_number_in_an_address_is_a_fault_of_ours(program: Client):
    caller = machine("caller")
    claim_id = caller.claimed(make_job())
    headers = {**caller.headers, CLAIM_HEADER: claim_id}
    wrong = []
    for job_id in IDS:
        calls = {
            (method, path.replace("{job_id}", str(job_id))) for method, path in QUEUE | WORKER if "{job_id}" in path
        }
        calls |= {(method, path.format(job_id)) for path in ADDRESSES for method in ("GET", "POST", "DELETE")}
        for method, address in calls:
            client = Client(headers=headers) if "/api/worker/" in address else program
            path = address.replace("{path}", "a.txt")
            body = "{}" if method == "POST" else ""
            found = fault(client.generic, method, path, body, content_type="application/json")
            wrong += [(method, address[:80], found)] if found else []
    assert wrong == []
