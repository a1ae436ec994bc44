"""Who may do what with the queue over HTTP: roles × operations, by token and by session."""

from typing import Any

import pytest
from django.test import Client

from jobs.models import Job, JobEvent, Queue
from jobs.states import Status
from tests.admin.visits import logged_in
from tests.api.calls import QUEUE, Unreadable, error_of, member, post_json, with_token
from tests.api.operations import ALSO, CHANGING, EVERY_PERMISSION, OPERATIONS, Operation
from tests.factories import job_in, reload

pytestmark = [pytest.mark.once, pytest.mark.django_db]
each = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
each_change = pytest.mark.parametrize("operation", CHANGING.values(), ids=CHANGING)


@each
def test_strangers_may_do_nothing(client: Client, operation: Operation):
    answer = operation.call(client)
    assert error_of(answer, 401)[0] == "not_authenticated"
    assert answer["WWW-Authenticate"].startswith("Bearer")


@each
def test_staff_need_the_permission_of_the_operation_and_no_other(operation: Operation):
    enough = {operation.permission} | ALSO.get(operation.permission, set())
    job = job_in(Status.FAILED)
    others = with_token(member(*set(EVERY_PERMISSION) - enough, name="others"))
    assert error_of(operation.call(others, job.pk), 403) == (
        "forbidden", f"This needs the permission jobs.{operation.permission}.",
    )  # fmt: skip
    assert reload(job).status == Status.FAILED
    for permission in enough:
        allowed = with_token(member(permission, name=permission))
        assert operation.call(allowed, job.pk).status_code in (200, 201, 409)


@each
def test_who_is_not_staff_may_do_nothing_whatever_the_permissions(operation: Operation):
    customer = member(*EVERY_PERMISSION, name="carl", is_staff=False)
    for client in (with_token(customer), logged_in(customer)):
        assert error_of(operation.call(client), 403) == (
            "forbidden", "This is for staff, and carl is not marked as staff.",
        )  # fmt: skip


@each_change
def test_a_browser_needs_the_csrf_token_to_change_something(operation: Operation):
    job = job_in(Status.FAILED)
    browser = logged_in(member(*EVERY_PERMISSION), enforce_csrf_checks=True)
    code, message = error_of(operation.call(browser, job.pk), 403)
    assert (code, "X-CSRFToken" in message) == ("csrf", True)
    assert (Job.objects.get().status, Queue.objects.count()) == (Status.FAILED, 0)
    browser.get("/accounts/login/")
    token = {"X-CSRFToken": browser.cookies["csrftoken"].value}
    assert operation.call(browser, job.pk, headers=token).status_code in (200, 201, 409)


def test_a_browser_reads_without_a_token():
    browser = logged_in(member("view_job", "view_queue"), enforce_csrf_checks=True)
    assert [browser.get(f"{QUEUE}{path}").status_code for path in ("/depth", "/jobs")] == [200, 200]


def test_a_form_of_another_site_is_refused_before_it_is_read():
    browser = logged_in(member(*EVERY_PERMISSION), enforce_csrf_checks=True)
    for content_type in ("multipart/form-data; boundary=b", "application/x-www-form-urlencoded", "text/plain"):
        body: Any = {"CONTENT_LENGTH": "100", "wsgi.input": Unreadable()}
        answer = browser.generic("POST", f"{QUEUE}/enqueue", b"", CONTENT_TYPE=content_type, **body)
        assert error_of(answer, 415)[0] == "unsupported_type"


def test_a_body_of_someone_who_may_not_send_it_is_not_read():
    body: Any = {"CONTENT_LENGTH": "100", "wsgi.input": Unreadable()}
    for client in (Client(), with_token(member("view_job"))):
        assert post_json(client, f"{QUEUE}/enqueue", **body).status_code in (401, 403)


def test_the_history_says_who_did_it():
    anna = with_token(member("change_job", "delete_job", "change_queue", name="anna"))
    job = job_in(Status.FAILED)
    said = []
    for verb, body in (("retry", {}), ("priority", {"priority": 7}), ("cancel", {}), ("requeue", {})):
        assert post_json(anna, f"{QUEUE}/jobs/{job.pk}/{verb}", body).status_code == 200
        said.append(job_reason(job.pk))
    assert said == ["retried by anna", "from 0 to 7, by anna", "by anna", "requeued from the start by anna"]
    post_json(anna, f"{QUEUE}/pause", {"queue": "media", "reason": "new disk"})
    assert Queue.objects.get().reason == "new disk, by anna"
    done = job_in(Status.COMPLETED, queue="other")
    post_json(anna, f"{QUEUE}/clear-completed")
    assert job_reason(done.pk) == "completed test.noop: cleared by anna"


def job_reason(job_id: int) -> str:
    return JobEvent.objects.filter(job_id=job_id).latest("id").reason
