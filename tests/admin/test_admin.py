"""The admin's pages: what operators see and do there, who may, and that texts of others stay texts."""

from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.queues import pause
from jobs.lifecycle.report import report
from jobs.models import Job, Worker
from jobs.states import PhaseStatus, QualityStatus, Status, WorkerStatus
from tests.factories import claimed, events_of_worker, job_in, make_job, make_worker, reload

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert('x')</script>"
ESCAPED = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"
LISTS = ("admin:jobs_job_changelist", "admin:jobs_worker_changelist", "admin:jobs_queue_changelist")


@pytest.fixture(autouse=True)
def _static_root(settings: LazySettings, tmp_path: Path) -> None:
    settings.STATIC_ROOT = tmp_path  # where there is none, WhiteNoise warns


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def operator() -> Client:
    return logged_in(User.objects.create_superuser("operator", password=None))


def staff(*permissions: str) -> Client:
    """The client of a member of staff who may do only this."""
    user = User.objects.create_user("member", password=None, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return logged_in(user)


def page(client: Client, name: str, *arguments: object) -> str:
    answer = client.get(reverse(name, args=arguments))
    assert answer.status_code == 200
    return answer.content.decode()


def act(client: Client, model: str, action: str, *rows: Job | Worker) -> list[str]:
    """Do an action with the rows selected, and return what the page then says."""
    chosen = {"action": action, "_selected_action": [str(row.pk) for row in rows]}
    answer = client.post(reverse(f"admin:jobs_{model}_changelist"), chosen, follow=True)
    assert answer.status_code == 200
    return [str(message) for message in answer.context["messages"]]


@pytest.fixture
def hostile_job() -> Job:
    """A job of which every text that others write is hostile."""
    ref = claimed(make_worker(HOSTILE), subject=HOSTILE, scope=HOSTILE, payload={"text": HOSTILE}, max_attempts=1)
    phase = PhaseReport(HOSTILE, 0, PhaseStatus.FAILED, error=HOSTILE)
    quality = QualityReport(HOSTILE, QualityStatus.FAILED, error=HOSTILE)
    report(Report(ref, 50, HOSTILE, [phase], [quality], checkpoint={"text": HOSTILE}))
    finish_one(Outcome.failed(ref, HOSTILE))
    return reload(ref)


def test_hostile_texts_are_shown_and_not_obeyed(operator: Client, hostile_job: Job):
    worker = Worker.objects.get()
    pages = [
        page(operator, "admin:jobs_job_changelist"),
        page(operator, "admin:jobs_job_change", hostile_job.pk),
        page(operator, "admin:jobs_worker_changelist"),
        page(operator, "admin:jobs_worker_change", worker.pk),
    ]
    for content in pages:
        assert ESCAPED in content
        assert HOSTILE not in content


def test_a_jobs_page_shows_its_phases_and_qualities(operator: Client):
    ref = claimed()
    phase, quality = PhaseReport("encode", 0, PhaseStatus.RUNNING, 40), QualityReport("720p", QualityStatus.IN_PROGRESS)
    report(Report(ref, phases=[phase], qualities=[quality]))
    content = page(operator, "admin:jobs_job_change", ref.job_id)
    for text in ("encode", "running", "720p", "in progress", "test.noop"):
        assert text in content


def test_the_queues_page_shows_how_deep_each_queue_is_and_which_are_paused(operator: Client):
    make_job(queue="media")
    make_job(queue="media")
    pause("mail")
    content = page(operator, "admin:jobs_queue_changelist")
    assert "?queue=media" in content
    assert "<td>2</td>" in content
    assert "(paused)" in content


def test_the_queues_page_of_an_empty_database_says_so(operator: Client):
    assert "No job has been enqueued yet." in page(operator, "admin:jobs_queue_changelist")


def test_retry_takes_failed_jobs_and_tells_which_it_left_alone(operator: Client):
    failed, completed = job_in(Status.FAILED), job_in(Status.COMPLETED)
    told = act(operator, "job", "retry", failed, completed)
    assert told == ["1 job retried.", f"Job {completed.pk} was left alone: it is not failed or cancelled."]
    assert (reload(failed).status, reload(completed).status) == (Status.PENDING, Status.COMPLETED)


def test_requeue_takes_completed_jobs_too(operator: Client):
    completed, cancelled, pending = (job_in(s) for s in (Status.COMPLETED, Status.CANCELLED, Status.PENDING))
    told = act(operator, "job", "requeue", completed, cancelled, pending)
    assert told == ["2 jobs requeued.", f"Job {pending.pk} was left alone: it has not ended, or is gone."]
    assert set(Job.objects.values_list("status", flat=True)) == {Status.PENDING}


def test_cancel_ends_pending_jobs_and_asks_running_ones_to_stop(operator: Client):
    running = reload(claimed())
    pending = make_job()
    told = act(operator, "job", "cancel", pending, running)
    assert told == ["1 job cancelled.", "1 running job was asked to stop."]
    assert reload(pending).status == Status.CANCELLED
    assert reload(running).cancel_requested_at
    again = act(operator, "job", "cancel", running)
    assert again == [f"Job {running.pk} was left alone: it has ended, or was asked to stop before."]


def test_clear_deletes_ended_jobs_only(operator: Client):
    failed, pending = job_in(Status.FAILED), make_job()
    told = act(operator, "job", "clear", failed, pending)
    assert told == ["1 job cleared.", f"Job {pending.pk} was left alone: it is not completed, failed, cancelled."]
    assert list(Job.objects.all()) == [pending]


def test_of_many_jobs_left_alone_the_first_ten_are_named(operator: Client):
    pending = [make_job() for _ in range(12)]
    told = act(operator, "job", "retry", *pending)
    assert len(told) == 11
    assert told[-1] == "… and 2 more."


def test_workers_are_disabled_enabled_and_drained(operator: Client):
    worker, other = make_worker("one"), make_worker("two")
    assert act(operator, "worker", "disable", worker) == ["1 worker disabled."]
    assert Worker.objects.get(name="one").status == WorkerStatus.DISABLED
    assert act(operator, "worker", "enable", worker, other) == [
        "1 worker enabled.", "Worker two was left alone: it is not disabled.",
    ]  # fmt: skip
    assert Worker.objects.get(name="one").status == WorkerStatus.OFFLINE
    assert events_of_worker(worker)[-2:] == ["worker_disabled", "worker_enabled"]
    assert act(operator, "worker", "drain", worker, other) == ["2 workers asked to drain."]
    assert set(Worker.objects.values_list("drain_requested", flat=True)) == {True}


@pytest.mark.parametrize("model", ["job", "worker", "queue"])
def test_nothing_is_added_edited_or_deleted_by_hand(operator: Client, model):
    row = make_job() if model == "job" else make_worker()
    assert operator.get(reverse(f"admin:jobs_{model}_add")).status_code == 403
    if model != "queue":
        before = type(row).objects.filter(pk=row.pk).values().get()
        assert operator.post(reverse(f"admin:jobs_{model}_change", args=[row.pk]), {}).status_code == 403
        assert operator.post(reverse(f"admin:jobs_{model}_delete", args=[row.pk]), {"post": "yes"}).status_code == 403
        assert type(row).objects.filter(pk=row.pk).values().get() == before


@pytest.mark.parametrize("name", LISTS)
def test_anonymous_users_are_sent_to_the_login(client: Client, name):
    answer = client.get(reverse(name))
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(reverse("admin:login"))


@pytest.mark.parametrize("name", LISTS)
def test_staff_without_permission_see_nothing(name):
    assert staff().get(reverse(name)).status_code == 403


def test_staff_who_may_only_look_cannot_act():
    viewer = staff("view_job", "view_worker", "view_queue")
    failed, worker = job_in(Status.FAILED), Worker.objects.get()
    for name in LISTS:
        page(viewer, name)
    for action in ("retry", "requeue", "cancel", "clear"):
        act(viewer, "job", action, failed)
    for action in ("disable", "enable", "drain"):
        act(viewer, "worker", action, worker)
    assert reload(failed).status == Status.FAILED
    assert (Worker.objects.get().status, Worker.objects.get().drain_requested) == (worker.status, False)


def test_staff_who_may_change_jobs_can_act():
    failed = job_in(Status.FAILED)
    assert act(staff("change_job"), "job", "retry", failed) == ["1 job retried."]
