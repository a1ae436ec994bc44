"""Every operation of the queue's API, called with what its document allows and with what it does not.

Nothing that a caller sends is a fault of ours: each answer is one that the document tells of, in the shape it promises.
"""

from typing import Any

import pytest
from django.core.signals import request_finished, request_started
from hypothesis import given
from schemathesis import openapi as documents
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from jobs.api.docs_page import openapi
from jobs.lifecycle.api_tokens import make_token
from jobs.states import Status
from project.wsgi import application
from tests.api.calls import member
from tests.api.operations import EVERY_PERMISSION, OPERATIONS
from tests.factories import job_in, make_job
from tests.security.trying import trying

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]  # which minds more than SQLite does
EXAMPLES = 8  # of each operation, right and wrong
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.mark.parametrize("path", OPERATIONS)
def test_no_call_is_answered_otherwise_than_the_document_says(path: str, monkeypatch: pytest.MonkeyPatch):
    for signal in (request_started, request_finished):  # as Django's client: they would close the test's connection
        monkeypatch.setattr(signal, "receivers", [])
    _, token = make_token(member(*EVERY_PERMISSION), "fuzz")
    job_in(Status.FAILED), job_in(Status.COMPLETED), make_job()
    schema = documents.from_dict(openapi())
    schema.app = application
    operation = schema[f"/api/queue{path}"][OPERATIONS[path].method]

    @trying(EXAMPLES)
    @given(case=operation.as_strategy(GenerationMode.POSITIVE) | operation.as_strategy(GenerationMode.NEGATIVE))
    def call(case: Any) -> None:
        answer = case.call(headers={"Authorization": f"Bearer {token}"})
        case.validate_response(answer, checks=CHECKS)

    call()
