"""Workers in the admin: what each is and has, and what operators do with them."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs.lifecycle.workers import sign_off
from jobs.models import JobEvent, Worker
from jobs.states import WorkerStatus
from tests.admin.visits import act_on_workers, logged, page, send, told_by
from tests.factories import age, claimed, events_of_worker, make_worker

pytestmark = pytest.mark.django_db
LIST, PAGE = "admin:jobs_worker_changelist", "admin:jobs_worker_change"


def test_the_list_tells_who_is_there_and_what_each_has(operator: Client):
    worker = make_worker("media-1", slots=4, queues=["media"], version="1.2")
    ref = claimed(worker, subject="A film", queue="media")
    age(90)
    content = page(operator, LIST)
    for text in ("media-1", "jy-idle", "elsewhere", "1 of 4", "A film", "1m30s ago", "1.2"):
        assert text in content
    assert reverse("admin:jobs_job_change", args=[ref.job_id]) in content


def test_the_list_can_be_filtered_and_says_when_it_is_empty(operator: Client):
    assert "No worker has registered yet" in page(operator, LIST)
    make_worker("here")
    assert "here" in page(operator, LIST, status="idle")
    assert "No worker is offline." in page(operator, LIST, status="offline")


def test_the_list_takes_as_many_statements_for_many_workers_as_for_one(operator: Client):
    def statements() -> int:
        with CaptureQueriesContext(connection) as captured:
            page(operator, LIST)
        return len(captured)

    claimed(make_worker("first"), queue="first")
    few = statements()
    for number in range(10):
        claimed(make_worker(f"w{number}"), queue=f"q{number}")
    assert statements() == few


def test_a_workers_page_shows_what_it_can_and_what_happened(operator: Client):
    worker = make_worker("media-1", gpu=True)
    claimed(worker, subject="A film")
    act_on_workers(operator, "disable", worker)
    content = page(operator, PAGE, worker.pk)
    for text in ("&quot;gpu&quot;: true", "A film", "worker disabled", "by anna", "jy-disabled", 'value="enable"'):
        assert text in content
    assert 'value="drain"' not in content


def test_workers_are_disabled_enabled_and_drained(operator: Client):
    worker, other = make_worker("one"), make_worker("two")
    assert act_on_workers(operator, "disable", worker) == ["Worker one was disabled."]
    assert Worker.objects.get(name="one").status == WorkerStatus.DISABLED
    assert act_on_workers(operator, "enable", worker, other) == [
        "Worker one was enabled.", "Worker two was left alone: it is not disabled.",
    ]  # fmt: skip
    assert Worker.objects.get(name="one").status == WorkerStatus.OFFLINE
    assert act_on_workers(operator, "drain", worker, other) == [
        "Worker one was left alone: it is not running, or was asked before.", "Worker two was asked to drain.",
    ]  # fmt: skip
    assert events_of_worker(worker)[-2:] == ["worker_disabled", "worker_enabled"]
    assert set(JobEvent.objects.exclude(reason="registered").values_list("reason", flat=True)) == {"by anna"}
    assert logged() == [("anna", "one", "Disabled."), ("anna", "one", "Enabled."), ("anna", "two", "Asked to drain.")]


def test_only_workers_that_are_gone_are_removed(operator: Client):
    here, gone, holding = make_worker("here"), make_worker("gone"), make_worker("holding")
    claimed(holding)
    sign_off(gone.pk), sign_off(holding.pk)
    told = act_on_workers(operator, "remove", here, gone, holding)
    assert told[0] == "Worker gone was removed."
    assert told[1] == "Worker here was left alone: it is not offline, or still has a running job."
    assert told[2].startswith("Worker holding is offline or still has a running job")
    assert set(Worker.objects.values_list("name", flat=True)) == {"here", "holding"}
    assert logged() == [("anna", "gone", "Removed.")]


def test_from_its_own_page_one_comes_back_to_it(operator: Client):
    worker = make_worker()
    form = {"action": "disable", "_selected_action": str(worker.pk), "single": "1"}
    answer = operator.post(reverse("admin:jobs_worker_act"), form)
    assert answer.headers["Location"] == reverse(PAGE, args=[worker.pk])


def test_nobody_selected_is_said(operator: Client):
    for ids in ([], ["x"], ["00000000-0000-4000-8000-000000000001"]):
        told = told_by(send(operator, "worker", action="drain", _selected_action=ids))
        assert told == ["Select at least one worker first."]


def test_a_worker_that_is_not_there_is_not_found(operator: Client):
    for wrong in ("x", "00000000-0000-4000-8000-000000000001"):
        assert operator.get(reverse(PAGE, args=[wrong])).status_code == 404
