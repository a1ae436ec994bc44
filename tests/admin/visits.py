"""Visits to the admin: what a page says, and what it says after a form was sent."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from jobs.models import Job, JobEvent, Worker

HOSTILE = "<script>alert('x')</script>"
ESCAPED = "&lt;script&gt;alert(&#x27;x&#x27;)&lt;/script&gt;"
LISTS = ("admin:jobs_job_changelist", "admin:jobs_worker_changelist", "admin:jobs_queue_changelist")


def logged_in(user: User, **options: Any) -> Client:
    client = Client(**options)
    client.force_login(user)
    return client


def staff(*permissions: str, name: str = "member") -> Client:
    """The client of a member of staff who may do only this."""
    user = User.objects.create_user(name, password=None, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return logged_in(user)


def page(client: Client, name: str, *arguments: object, **query: Any) -> str:
    answer = client.get(reverse(name, args=arguments), query)
    assert answer.status_code == 200
    return answer.content.decode()


def send(client: Client, model: str, **form: Any) -> Any:
    return client.post(reverse(f"admin:jobs_{model}_act"), form, follow=True)


def told_by(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return [str(message) for message in answer.context["messages"]]


def act(client: Client, action: str, *jobs: Job, **more: Any) -> list[str]:
    """Do it with these jobs, confirmed, and return what the page then says."""
    return told_by(send(client, "job", action=action, _selected_action=[j.pk for j in jobs], confirmed=1, **more))


def act_on_all(client: Client, action: str, which: str, **more: Any) -> list[str]:
    """Do it with all jobs that match."""
    return told_by(send(client, "job", action=action, across=1, which=which, confirmed=1, **more))


def act_on_workers(client: Client, action: str, *workers: Worker) -> list[str]:
    return told_by(send(client, "worker", action=action, _selected_action=[str(worker.pk) for worker in workers]))


def last_reason(job: Job) -> str:
    """Why the last thing happened to this job."""
    event = JobEvent.objects.filter(job_id=job.pk).order_by("-id").first()
    assert event
    return event.reason


def logged() -> list[tuple[str, str, str]]:
    """Who did what to which, by Django's own log."""
    entries = LogEntry.objects.select_related("user").order_by("pk")
    return [(entry.user.username, entry.object_repr, entry.change_message) for entry in entries]
