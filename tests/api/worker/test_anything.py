"""Whatever is sent, by whomever: no error is ours, every status is in the document, and no job of another is touched.

Schemathesis makes the calls out of the OpenAPI document, with bodies that fit it and, mostly, some that do not.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from django.conf import LazySettings
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from jobs.api.docs_page import openapi
from jobs.handlers.registry import Kind, registry
from jobs.models import Job, Worker
from jobs.wire.names import CLAIM_HEADER, SHA256_HEADER
from tests.api.calls import error_of
from tests.api.worker.calls import WORKER, Machine, machine
from tests.api.worker.desk import files_of
from tests.factories import make_job
from tests.security.trying import trying

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]  # which minds more than SQLite does
EXAMPLES = 6
SCHEMA = schemathesis.openapi.from_dict(openapi())
FOUND: list[Any] = [found.ok() for found in SCHEMA.get_all_operations()]  # type: ignore[union-attr]  # none is wrong
OPERATIONS = {each.label: each for each in FOUND if each.path.startswith(f"{WORKER}/")}
# There is nothing to read, what is sent is no archive, and no list of files.
NEVER_DONE = {
    f"GET {WORKER}/{{job_id}}/source",
    f"PUT {WORKER}/{{job_id}}/archive",
    f"POST {WORKER}/{{job_id}}/finalize",
}
FILE = "what is in a file"
ODD = st.sampled_from(["", "x", "\x00", "é" * 9, "00000000-0000-0000-0000-000000000000"])


@pytest.fixture(autouse=True)
def _a_kind_with_files() -> Iterator[None]:
    registry.add(Kind("test.files", lambda context: None, files=files_of, spawns=("test.noop",)))
    yield
    registry.remove("test.files")


def takes_json(operation: Any) -> bool:
    return all(body.media_type == "application/json" for body in operation.body)


@pytest.mark.parametrize(
    "operation", [each for each in OPERATIONS.values() if takes_json(each)], ids=lambda op: op.label
)
def test_no_call_fails_or_touches_what_is_not_its_own(
    operation: Any, monkeypatch: pytest.MonkeyPatch, settings: LazySettings, tmp_path: Path
):
    settings.MEDIA_ROOT = tmp_path / "media"
    monkeypatch.setenv("JOBS_WORKER_ADMIN_SECRET", "a secret of the administrator")
    caller, victim = machine("caller"), machine("victim")
    job = make_job()
    claim_id = victim.claimed(job)
    before = rows_of(victim, job.pk)
    inside = set[str]()

    @trying(EXAMPLES)
    @given(case=operation.as_strategy(), whose=st.sampled_from(["nobody", "theirs"]), odd=st.none() | ODD)
    def call(case: Any, whose: str, odd: str | None) -> None:
        check(send(case, caller, (job.pk, claim_id) if whose == "theirs" else None, odd))

    @trying(EXAMPLES)
    @given(case=operation.as_strategy())
    def call_on_its_own(case: Any) -> None:
        """Each with a job that it has just claimed: so all calls about a job are let in."""
        mine = make_job("test.files", queue="mine")
        own = caller.claim(queues=["mine"], kinds=["test.files"]).json()["jobs"][0]["claim"]["claim_id"]
        answer = send(case, caller, (mine.pk, own), None)
        check(answer)
        inside.add(f"{answer.status_code // 100}xx")

    def check(answer: Any) -> None:
        assert answer.status_code < 500 or answer.status_code == 503, answer.content
        assert str(answer.status_code) in operation.definition.raw["responses"] or answer.status_code in (404, 405)
        assert rows_of(victim, job.pk) == before

    call()
    if "{job_id}" in operation.label:
        call_on_its_own()
        assert "2xx" in inside or operation.label in NEVER_DONE, "no call got past the checks"


def send(case: Any, caller: Machine, held: tuple[int, str] | None, odd: str | None) -> Any:
    """As the case says, with the caller's key; on a job that somebody holds, whose claim id it knows."""
    body = case.body if isinstance(case.body, (dict, list, str, int, float)) else {}
    path, headers = case.formatted_path, {**caller.headers, "X-Admin-Secret": "a secret of the administrator"}
    if held:
        job_id, claim_id = held
        path = case.path.replace("{job_id}", str(job_id)).replace("{path}", "a.txt")
        headers |= {CLAIM_HEADER: claim_id, SHA256_HEADER: hashlib.sha256(FILE.encode()).hexdigest()}
        if isinstance(body, dict):
            claim = {"job_id": job_id, "claim_id": claim_id}
            body = {**body, "claim_id": claim_id, "claim": claim, "claims": [claim]}
    if odd is not None:
        headers[CLAIM_HEADER] = odd
    data = {"POST": json.dumps(body), "PUT": FILE}.get(case.method, "")
    return Client().generic(case.method, path, data, content_type="application/json", headers=headers)


def rows_of(victim: Machine, job_id: int) -> Any:
    return (
        Job.objects.filter(pk=job_id).values().get(),
        Worker.objects.filter(pk=victim.worker_id).values().get(),
    )


@pytest.mark.parametrize("kinds", ["kinds", "isolated_kinds"])
@pytest.mark.parametrize("name", ["\x00", "a\x00b", "\ud800", "x" * 101])
def test_a_kind_that_cannot_be_is_refused_wherever_it_is_named(kinds: str, name: str):
    """One that must begin at once is looked for in the database where there is no room for it."""
    caller = machine("caller")
    make_job()
    told = {"kinds": [name]} if kinds == "kinds" else {"isolated_kinds": {name: 1}, "isolated_limit": 0}
    assert error_of(caller.claim(**told), 422)[1].startswith("The kind ")
    assert len(caller.claim(isolated_kinds={"test.other": 1}, isolated_limit=0).json()["jobs"]) == 1
