"""Remote workers in the admin: added with a key that is shown once, which can be replaced and revoked."""

import re

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from jobs.models import Worker, WorkerKey
from tests.admin.visits import logged_in
from tests.api.calls import member
from tests.api.worker.calls import Machine

pytestmark = [pytest.mark.once, pytest.mark.django_db]
LIST = "/admin/jobs/worker/"
KEY = re.compile(r"worker_[0-9a-f]{8}_[\w-]{43}")


def key_on(page: str) -> str:
    [key] = KEY.findall(page)
    return str(key)


def test_a_worker_is_added_and_its_key_is_shown_once(admin_client: Client):
    assert "Add worker" in admin_client.get(LIST).content.decode()
    page = admin_client.post(f"{LIST}add/", {"name": "gpu-box", "days": "90"})
    assert "no-store" in page["Cache-Control"]
    worker = Worker.objects.get()
    box = Machine(worker.pk, key_on(page.content.decode()))
    assert box.start().status_code == 200
    shown = admin_client.get(f"{LIST}{worker.pk}/change/").content.decode()
    assert WorkerKey.objects.get().prefix in shown
    assert not KEY.search(shown)
    renewed = admin_client.post(f"{LIST}{worker.pk}/change/", {"do": "rotate"})
    other = Machine(worker.pk, key_on(renewed.content.decode()), box.process)
    assert [each.post("heartbeat").status_code for each in (box, other)] == [200, 200]
    admin_client.post(f"{LIST}{worker.pk}/change/", {"prefix": WorkerKey.objects.earliest("pk").prefix})
    assert [each.post("heartbeat").status_code for each in (box, other)] == [401, 200]
    assert not [entry for entry in LogEntry.objects.all() if KEY.search(str(entry.__dict__))]
    assert LogEntry.objects.count() == 3


def test_only_who_may_add_workers_sees_a_key_and_only_operators_revoke():
    viewer, operator = (logged_in(member(*rights, name=rights[0])) for rights in (("view_worker",), ("change_worker",)))
    adder = logged_in(member("add_worker", "view_worker", name="adder"))
    assert [each.post(f"{LIST}add/", {"name": "x"}).status_code for each in (viewer, operator)] == [403, 403]
    assert adder.post(f"{LIST}add/", {"name": "x"}).status_code == 200
    page = f"{LIST}{Worker.objects.get().pk}/change/"
    assert [each.post(page, {"do": "rotate"}).status_code for each in (viewer, operator)] == [403, 403]
    prefix = WorkerKey.objects.get().prefix
    assert [each.post(page, {"prefix": prefix}).status_code for each in (viewer, adder)] == [403, 403]
    assert operator.post(page, {"prefix": prefix}).status_code == 302
    assert WorkerKey.objects.get().revoked_at
    assert adder.post(f"{LIST}add/", {"name": " "}).status_code == 200
    assert Worker.objects.count() == 1
