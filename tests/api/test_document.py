"""The OpenAPI document is valid, tells of every operation and field, and every answer and error in it occurs."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate

from jobs.api.docs_page import openapi
from jobs.states import Status
from tests.admin.visits import logged_in
from tests.api.calls import QUEUE, error_of, member, post_json, with_token
from tests.api.operations import EVERY_PERMISSION, OPERATIONS, Operation
from tests.factories import job_in

pytestmark = [pytest.mark.once, pytest.mark.django_db]
DOCUMENT = "/api/openapi.json"
each = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


@pytest.fixture(scope="module")
def document() -> Any:
    return json.loads(json.dumps(openapi()))


def described(document: Any, operation: Operation) -> Any:
    return document["paths"][QUEUE + operation.path][operation.method.lower()]


def test_the_document_is_valid_and_tells_of_every_operation_and_no_other(program: Client, document: Any):
    validate(document)
    assert program.get(DOCUMENT).json() == document
    told = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    told = {(method, path) for method, path in told if path.startswith(QUEUE)}  # of workers: tests/api/worker
    assert told == {(operation.method, QUEUE + operation.path) for operation in OPERATIONS.values()}
    names = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(set(names)) == len(names)
    for operation in OPERATIONS.values():
        said = described(document, operation)
        assert f"`jobs.{operation.permission}`" in said["description"]
        assert said["summary"]
        assert ("requestBody" in said) == operation.takes_body
    assert document["security"] == [{"token": []}, {"session": []}]
    assert document["components"]["securitySchemes"].keys() == {"token", "session", "worker", "admin_secret"}


def test_the_calls_of_workers_are_told_in_words_and_in_three_groups(document: Any):
    told = [said for path, methods in document["paths"].items() if "/worker/" in path for said in methods.values()]
    groups = {"Remote workers", "Jobs of a remote worker", "Files of a remote worker"}
    assert {tag for said in told for tag in said["tags"]} == groups
    made_up = {said["operationId"].replace("_", " ").title() for said in told}  # where nobody wrote one
    assert made_up.isdisjoint(said["summary"] for said in told)


def test_what_is_sent_and_answered_is_described_field_by_field(document: Any):
    schemas = document["components"]["schemas"]
    for name, schema in schemas.items():
        assert schema.get("properties") or "enum" in schema or name == "Nothing", f"{name} has no field"
    assert {"phases", "qualities", "events", "payload", "result", "error"} <= schemas["JobDetail"]["properties"].keys()
    parameters = {parameter["name"] for parameter in described(document, OPERATIONS["/jobs"])["parameters"]}
    assert parameters == {
        "state", "queue", "kind", "scope", "worker", "search", "older_than", "newer_than", "limit", "cursor",
    }  # fmt: skip


@each
def test_answers_have_the_shape_that_is_promised(program: Client, document: Any, operation: Operation):
    job = job_in(Status.PENDING if operation.path.endswith(("cancel", "priority")) else Status.FAILED)
    answer = operation.call(program, job.pk)
    promised = described(document, operation)["responses"][str(answer.status_code)]
    schema = {**promised["content"]["application/json"]["schema"], "components": document["components"]}
    Draft202012Validator(schema).validate(answer.json())
    assert answer.status_code in (200, 201)


Provoke = Callable[[Operation, Client, int], Any]


def address_of(operation: Operation, job_id: int) -> str:
    return QUEUE + operation.path.replace("{job_id}", str(job_id))


def malformed(operation: Operation, program: Client, job_id: int) -> Any:
    return post_json(program, address_of(operation, job_id), "{")


def wrong(operation: Operation, program: Client, job_id: int) -> Any:
    address = address_of(operation, job_id)
    return program.get(f"{address}?x=1") if operation.method == "GET" else post_json(program, address, {"x": 1})


def too_large(operation: Operation, program: Client, job_id: int) -> Any:
    return post_json(program, address_of(operation, job_id), CONTENT_LENGTH="9999999")


PROVOKE: dict[int, Provoke] = {
    400: malformed,
    401: lambda operation, program, job_id: operation.call(Client(), job_id),
    403: lambda operation, program, job_id: operation.call(with_token(member()), job_id),
    404: lambda operation, program, job_id: operation.call(program, job_id + 1),
    409: lambda operation, program, job_id: [operation.call(program, job_id) for _ in range(2)][1],
    413: too_large,
    415: lambda operation, program, job_id: post_json(program, address_of(operation, job_id), "x", "text/plain"),
    422: wrong,
}


@each
def test_every_error_that_is_told_of_occurs(program: Client, document: Any, operation: Operation):
    job = job_in(Status.CANCELLED)
    errors = {int(status) for status in described(document, operation)["responses"]} - {200, 201}
    assert {401, 403, 422} <= errors
    for status in errors:
        answer = PROVOKE[status](operation, program, job.pk)
        error_of(answer, status)
        schema = {"$ref": "#/components/schemas/Refusal", "components": document["components"]}
        Draft202012Validator(schema).validate(answer.json())


# The page


def test_the_document_and_its_page_are_for_staff():
    assert error_of(Client().get(DOCUMENT), 401)[0] == "not_authenticated"
    away = Client().get("/api/docs")
    assert (away.status_code, away["Location"]) == (302, "/accounts/login/?next=/api/docs")
    customer = logged_in(member(*EVERY_PERMISSION, is_staff=False))
    assert [customer.get(address).status_code for address in (DOCUMENT, "/api/docs")] == [403, 403]
    operator = logged_in(User.objects.create_superuser("anna", password=None))
    assert [operator.get(address).status_code for address in (DOCUMENT, "/api/docs")] == [200, 200]
    assert error_of(operator.post(DOCUMENT), 405)[0] == "method_not_allowed"


def test_the_page_asks_this_site_for_all_it_needs(program: Client):
    operator = logged_in(User.objects.create_superuser("bob", password=None))
    content = operator.get("/api/docs").content.decode()
    for address in re.findall(r'(?:src|href)="([^"]+)"', content):
        assert address.startswith(("/api/", "/static/", "data:,"))
    assert operator.get("/api/docs/swagger-ui-bundle.js")["Content-Type"] == "text/javascript; charset=utf-8"
    for name in ("nothing.js", "redoc.standalone.js", "..%2F__init__.py"):
        assert operator.get(f"/api/docs/{name}").status_code == 404


WITHOUT_NINJA = """
import sys
sys.modules["ninja"] = sys.modules["pydantic"] = None  # as where they are not installed
import django
django.setup()
from django.core.management import get_commands, load_command_class
load_command_class("jobs", "runworker").check()
from django.test import RequestFactory
from django.urls import resolve
match = resolve("/api/queue/depth")
try:
    match.func(RequestFactory().get("/api/queue/depth"), **match.kwargs)
except Exception as error:
    print(error)
"""


def test_workers_load_no_ninja_and_who_leaves_it_out_is_warned_and_told_so_by_the_api():
    done = subprocess.run([sys.executable, "-c", WITHOUT_NINJA], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "The queue's API needs django-ninja: pip install 'jobyard[api]'.", done.stderr
    assert "(jobs.W060) The urls include jobs.api.urls" in done.stderr
