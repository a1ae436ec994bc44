"""Errors of the HTTP API: the right status and code, one sentence, always JSON, and never ours for what is theirs."""

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from jobs.api.errors import as_api_error
from jobs.exceptions import WorkerNotFound
from jobs.models import Job
from jobs.states import Status
from tests.api.calls import QUEUE, Unreadable, error_of, post_json
from tests.api.operations import CHANGING, OPERATIONS, Operation
from tests.factories import job_in

pytestmark = [pytest.mark.once, pytest.mark.django_db]
WITH_BODY = {path: operation for path, operation in CHANGING.items() if operation.takes_body}
OF_ONE_JOB = {path: operation for path, operation in OPERATIONS.items() if "{job_id}" in path}
each = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
each_with_body = pytest.mark.parametrize("operation", WITH_BODY.values(), ids=WITH_BODY)


@pytest.mark.parametrize("operation", OF_ONE_JOB.values(), ids=OF_ONE_JOB)
def test_a_job_that_is_not_there_is_not_found(program: Client, operation: Operation):
    for number in (7, 0, 2**63, 10**40):
        assert error_of(operation.call(program, number), 404) == ("not_found", f"There is no job {number}.")


@pytest.mark.parametrize(
    "address",
    ["", "/", "/jobs/", "/jobs/-1", "/jobs/x", "/jobs/1/", "/jobs/1/delete", "/jobs/%00", "/jobs/1%0A", "/x%0Ay",
     "/jobs/" + "9" * 5000, "/jobs/1.5", "/jobs/%F0%9F%98%80", "/depth/", "/openapi.json"],
    ids=lambda address: address[:20],
)  # fmt: skip
def test_other_addresses_are_not_found_and_say_so_in_json(program: Client, address: str):
    for method in ("GET", "POST"):
        answer = program.generic(method, QUEUE + address)
        assert error_of(answer, 404) == ("not_found", "There is nothing at this address.")


@each
def test_a_method_that_an_address_does_not_take_is_refused(program: Client, operation: Operation):
    address = QUEUE + operation.path.replace("{job_id}", "1")
    for method in ("PUT", "DELETE", "OPTIONS", "BREW", "POST" if operation.method == "GET" else "GET"):
        answer = program.generic(method, address)
        assert error_of(answer, 405)[1] == f"This address takes {operation.method}, not {method}."
        assert answer["Allow"] == operation.method


def test_head_is_a_get_without_the_body(program: Client):
    answer = program.head(f"{QUEUE}/depth")
    assert (answer.status_code, answer.content) == (200, b"")
    assert error_of(program.get(f"{QUEUE}/depth?x=1"), 422)[1] == "Unknown parameter 'x'; known are none."


@each_with_body
def test_a_body_that_cannot_be_read_is_malformed(program: Client, operation: Operation):
    address = QUEUE + operation.path.replace("{job_id}", str(job_in(Status.FAILED).pk))
    for body in ("{", "nonsense", b"\xff\xfe\x00", '{"queue": NaN}', "[" * 20_000, '{"a": ' + "9" * 5000 + "}"):
        assert error_of(post_json(program, address, body), 400) == ("malformed", "The body is not valid JSON.")


@each_with_body
def test_a_body_of_the_wrong_shape_is_invalid(program: Client, operation: Operation):
    job = job_in(Status.FAILED)
    address = QUEUE + operation.path.replace("{job_id}", str(job.pk))
    for body in ("[]", "null", '"text"', "5", "true", '{"other": 1}', '{"queue": 5, "kind": [], "priority": "5"}'):
        answer = post_json(program, address, body)
        code, message = error_of(answer, 422)
        assert code == "invalid"
        assert message.startswith("The request is not valid: ")
        assert answer.json()["error"]["fields"]
    assert Job.objects.get() == job


def test_each_wrong_field_is_named(program: Client):
    wish = {"priority": True, "force": 1, "max_runtime": "60", "subject": None, "payload": [], "colour": "red"}
    answer = post_json(program, f"{QUEUE}/enqueue", wish)
    error_of(answer, 422)
    assert answer.json()["error"]["fields"] == {
        "kind": "is missing",
        "payload": "should be a JSON object",
        "priority": "should be a valid integer",
        "subject": "should be a valid string",
        "force": "should be a valid boolean",
        "max_runtime": "should be a valid number",
        "colour": "is not known here",
    }


@pytest.mark.parametrize("moment", ["5", "soon", "2031-02-31T12:00:00Z", "2031-05-01", "2031-05-01T12:00:00", ""])
def test_a_time_is_written_with_its_zone(program: Client, moment: str):
    answer = post_json(program, f"{QUEUE}/enqueue", {"kind": "test.noop", "run_after": moment})
    assert "run_after" in error_of(answer, 422)[1]
    assert not Job.objects.exists()


@pytest.mark.parametrize("depth", [65, 500, 5000])
def test_a_payload_nested_too_deeply_is_refused(program: Client, depth: int):
    body = '{"kind": "test.noop", "payload": ' + '{"a": ' * depth + "1" + "}" * depth + "}"
    answer = post_json(program, f"{QUEUE}/enqueue", body)
    assert answer.status_code in (400, 422)  # Python itself gives up somewhere
    error_of(answer, answer.status_code)


@each_with_body
def test_a_body_that_is_too_large_is_refused_before_it_is_read(program: Client, settings: Any, operation: Operation):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None  # so that Django's own limit is not the one that is met
    body: Any = {"CONTENT_LENGTH": str(4 * 1024 * 1024), "wsgi.input": Unreadable()}
    address = QUEUE + operation.path.replace("{job_id}", "1")
    assert error_of(post_json(program, address, **body), 413)[0] == "too_large"


def test_a_body_above_the_limit_of_the_site_is_refused(program: Client, settings: Any):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    wish = {"kind": "test.noop", "subject": "x" * 2000}
    code, message = error_of(post_json(program, f"{QUEUE}/enqueue", wish), 413)
    assert (code, "DATA_UPLOAD_MAX_MEMORY_SIZE" in message) == ("too_large", True)


@each_with_body
def test_a_body_is_json_and_says_so(program: Client, operation: Operation):
    address = QUEUE + operation.path.replace("{job_id}", "1")
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b", ""):
        assert error_of(post_json(program, address, {}, content_type), 415)[0] == "unsupported_type"


def test_a_body_where_none_is_taken_is_refused_unless_it_says_nothing(program: Client):
    job = job_in(Status.FAILED)
    address = f"{QUEUE}/jobs/{job.pk}/retry"
    assert error_of(post_json(program, address, {"priority": 5}), 422) == ("invalid", "This call takes no body.")
    assert post_json(program, address, "").status_code == 200


def test_a_body_in_chunks_is_refused(program: Client):
    answer = post_json(program, f"{QUEUE}/enqueue", HTTP_TRANSFER_ENCODING="chunked")
    assert error_of(answer, 411)[0] == "length_required"


def test_answers_are_not_kept_by_caches(program: Client):
    for address in ("/depth", "/nowhere"):
        assert "no-store" in program.get(QUEUE + address)["Cache-Control"]


def test_a_busy_database_is_told_with_the_time_to_wait_and_a_broken_one_is_our_error():
    busy = as_api_error(OperationalError("database is locked"))
    assert busy
    assert (busy.status, busy.code, busy.headers) == (503, "busy", {"Retry-After": "1"})
    assert as_api_error(OperationalError("no such column: x")) is None
    assert as_api_error(KeyError("x")) is None
    lost = as_api_error(WorkerNotFound(worker_id=1))
    assert lost
    assert lost.status == 404


def test_an_error_of_ours_is_not_hidden(program: Client, monkeypatch: pytest.MonkeyPatch):
    def broken() -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr("jobs.api.documents.queue_depths", broken)
    with pytest.raises(RuntimeError, match="ours"):
        program.get(f"{QUEUE}/depth")
    program.raise_request_exception = False
    assert program.get(f"{QUEUE}/depth").status_code == 500
