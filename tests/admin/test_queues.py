"""Queues in the admin: how deep each is, paused or not, and errors dealt with in one click."""

import re
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from jobs.models import Job, JobEvent, Queue
from jobs.states import Status
from tests.admin.visits import logged, page, send, told_by
from tests.factories import age, job_in, make_job, reload

pytestmark = pytest.mark.django_db
PAGE = "admin:jobs_queue_changelist"


def click(client: Client, label: str, queue: str) -> list[str]:
    """Press a button of the page, with exactly what its form has."""
    content = page(client, PAGE)
    (form,) = [
        found
        for found in re.findall(r"<form method=\"post\".*?</form>", content, re.DOTALL)
        if f">{label}<span" in found and f" of {queue}</span>" in found
    ]
    fields = {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)}
    return told_by(client.post(reverse("admin:jobs_job_act"), fields, follow=True))


def test_it_shows_how_deep_each_queue_is_and_how_long_the_oldest_waits(operator: Client):
    make_job(queue="media"), make_job(queue="media")
    age(75)
    content = page(operator, PAGE)
    assert "?queue=media&amp;state=pending" in content
    assert ">2</a>" in content
    assert "1m15s" in content


def test_an_empty_database_says_so(operator: Client):
    assert "No job has been enqueued yet." in page(operator, PAGE)


def test_a_queue_is_paused_with_a_reason_and_resumed(operator: Client):
    assert told_by(send(operator, "queue", action="pause", queue="mail", reason="too many bounces")) == [
        "Queue mail paused."
    ]
    assert Queue.objects.get().reason == "too many bounces, by anna"
    content = page(operator, PAGE)
    assert "jy-paused" in content
    assert "too many bounces, by anna" in content
    assert told_by(send(operator, "queue", action="pause", queue="mail")) == [
        "Queue mail was left alone: it is paused already."
    ]
    assert told_by(send(operator, "queue", action="resume", queue="mail")) == ["Queue mail resumed."]
    assert not Queue.objects.get().paused
    assert list(JobEvent.objects.values_list("name", "reason")) == [
        ("queue_paused", "too many bounces, by anna"), ("queue_resumed", "by anna"),
    ]  # fmt: skip
    assert logged() == [("anna", "mail", "Paused."), ("anna", "mail", "Resumed.")]


@pytest.mark.parametrize("form", [{"queue": "a b"}, {"queue": ""}, {"queue": "mail", "reason": "x" * 600}])
def test_what_cannot_be_paused_is_told(operator: Client, form):
    (told,) = told_by(send(operator, "queue", action="pause", **form))
    assert "queue name" in told or "reason" in told
    assert not Queue.objects.exists()


def test_errors_are_retried_in_one_click(operator: Client):
    failed, other = job_in(Status.FAILED, queue="mail"), job_in(Status.FAILED, queue="media")
    completed = job_in(Status.COMPLETED, queue="mail")
    assert click(operator, "Retry errors", "mail") == ["1 job retried."]
    assert [reload(job).status for job in (failed, other, completed)] == ["pending", "failed", "completed"]


def test_errors_and_completed_jobs_are_cleared_in_one_click(operator: Client):
    failed, completed = job_in(Status.FAILED, queue="mail"), job_in(Status.COMPLETED, queue="mail")
    other = job_in(Status.COMPLETED, queue="media")
    assert click(operator, "Clear errors", "mail") == ["1 job cleared."]
    assert set(Job.objects.all()) == {completed, other}
    assert click(operator, "Clear completed", "mail") == ["1 job cleared."]
    assert list(Job.objects.all()) == [other]
    assert logged()[0] == ("anna", f"job {failed.pk}", "Cleared.")


def test_the_address_of_a_queue_leads_to_its_jobs(operator: Client):
    answer = operator.get(reverse("admin:jobs_queue_change", args=["mail"]))
    assert answer.headers["Location"] == reverse("admin:jobs_job_changelist") + "?queue=mail"
