"""Who may do what: view, operate and administer are three things, and nothing changes without a form of ours."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from jobs.lifecycle.workers import sign_off
from jobs.models import Job, Queue, Worker
from jobs.states import Status
from tests.admin.visits import LISTS, act, act_on_workers, logged_in, page, send, staff
from tests.factories import job_in, make_job, make_worker, reload

pytestmark = pytest.mark.django_db
OPERATING = ("retry", "requeue", "cancel", "run_now", "front", "back", "priority", "move")


def posts(content: str) -> list[str]:
    """Where the forms of a page are sent, without the admin's own."""
    own = re.findall(r'<form[^>]*method="post"[^>]*action="([^"]*)"', content)
    return [address for address in own if "logout" not in address]


def pages_of(client: Client, job: Job, worker: Worker) -> list[str]:
    return [
        *(page(client, name) for name in LISTS),
        page(client, "admin:jobs_job_change", job.pk),
        page(client, "admin:jobs_worker_change", worker.pk),
    ]


def test_who_may_only_look_sees_no_buttons_and_cannot_post():
    viewer = staff("view_job", "view_worker", "view_queue")
    failed, worker = job_in(Status.FAILED), Worker.objects.get()
    for content in pages_of(viewer, failed, worker):
        assert "<button" not in content.split('id="content"')[1]
        assert 'name="_selected_action"' not in content
        assert not posts(content)
    for action in (*OPERATING, "clear"):
        for more in ({"_selected_action": failed.pk}, {"across": 1, "which": ""}):
            assert send(viewer, "job", action=action, confirmed=1, **more).status_code == 403
    for action in ("disable", "enable", "drain", "remove"):
        assert send(viewer, "worker", action=action, _selected_action=str(worker.pk)).status_code == 403
    for action in ("pause", "resume"):
        assert send(viewer, "queue", action=action, queue="default").status_code == 403
    assert reload(failed).status == Status.FAILED
    assert (Worker.objects.get().status, Worker.objects.get().drain_requested) == (worker.status, False)
    assert not Queue.objects.exists()
    assert not LogEntry.objects.exists()


def test_who_may_operate_does_not_clear_or_remove():
    member = staff("change_job", "change_worker")
    failed, worker = job_in(Status.FAILED), make_worker("gone")
    sign_off(worker.pk)
    assert 'value="clear"' not in page(member, "admin:jobs_job_change", failed.pk)
    assert 'value="clear"' not in page(member, "admin:jobs_job_changelist")
    assert 'value="remove"' not in page(member, "admin:jobs_worker_change", worker.pk)
    assert send(member, "job", action="clear", _selected_action=failed.pk, confirmed=1).status_code == 403
    assert send(member, "worker", action="remove", _selected_action=str(worker.pk)).status_code == 403
    assert act(member, "retry", failed) == ["1 job retried."]
    assert act_on_workers(member, "disable", worker) == ["Worker gone was disabled."]


def test_who_may_administer_clears_and_does_not_retry():
    member = staff("delete_job", "delete_worker")
    failed, other = job_in(Status.FAILED), job_in(Status.FAILED)
    assert send(member, "job", action="retry", _selected_action=failed.pk, confirmed=1).status_code == 403
    assert act(member, "clear", failed) == ["1 job cleared."]
    assert list(Job.objects.all()) == [other]


def test_the_buttons_on_the_queues_page_are_those_of_jobs_and_of_queues():
    job_in(Status.FAILED), job_in(Status.COMPLETED)
    assert posts(page(staff("view_queue", "change_queue"), LISTS[2])) == [reverse("admin:jobs_queue_act")]
    for_jobs = page(staff("view_queue", "change_job", "delete_job", name="other"), LISTS[2])
    assert posts(for_jobs) == 3 * [reverse("admin:jobs_job_act")]


@pytest.mark.parametrize("model", ["job", "worker", "queue"])
def test_changes_are_posts_with_a_token(model):
    user = User.objects.create_superuser("anna", password=None)
    address = reverse(f"admin:jobs_{model}_act")
    job = make_job()
    assert logged_in(user).get(address, {"action": "cancel", "_selected_action": str(job.pk)}).status_code == 405
    strict = logged_in(user, enforce_csrf_checks=True)
    form = {"action": "cancel", "_selected_action": str(job.pk), "confirmed": "1"}
    assert strict.post(address, form).status_code == 403
    assert reload(job).status == Status.PENDING


@pytest.mark.parametrize("model", ["job", "worker", "queue"])
def test_nothing_is_added_edited_or_deleted_by_hand(operator: Client, model):
    row = make_job() if model == "job" else make_worker()
    if model != "worker":  # remote ones are: tests/admin/test_worker_keys.py
        assert operator.get(reverse(f"admin:jobs_{model}_add")).status_code == 403
    if model != "queue":
        before = type(row).objects.filter(pk=row.pk).values().get()
        assert operator.post(reverse(f"admin:jobs_{model}_change", args=[row.pk]), {}).status_code == 403
        assert operator.post(reverse(f"admin:jobs_{model}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
        assert type(row).objects.filter(pk=row.pk).values().get() == before


@pytest.mark.parametrize("name", [*LISTS, "admin:jobs_job_act", "admin:jobs_worker_act", "admin:jobs_queue_act"])
def test_anonymous_users_are_sent_to_the_login(client: Client, name):
    answer = client.get(reverse(name))
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(reverse("admin:login"))


@pytest.mark.parametrize("name", LISTS)
def test_staff_without_permission_see_nothing(name):
    member = staff()
    assert member.get(reverse(name)).status_code == 403
    job, worker = make_job(), make_worker()
    assert member.get(reverse("admin:jobs_job_change", args=[job.pk])).status_code == 403
    assert member.get(reverse("admin:jobs_worker_change", args=[worker.pk])).status_code == 403
