"""`list_workers`, `disable_worker`, `enable_worker`, `drain_worker`."""

import pytest

from jobs.lifecycle.workers import disable, sign_off
from jobs.models import JobEvent, Worker
from jobs.states import EventName, WorkerStatus
from tests.commands.calls import refused, run, run_json
from tests.factories import claimed, make_worker

pytestmark = pytest.mark.django_db


def status(worker: Worker) -> str:
    worker.refresh_from_db()
    return worker.status


def test_workers_are_listed_with_what_they_hold():
    worker = make_worker("box-1", queues=["media", "slow"])
    claimed(worker, queue="media")
    make_worker("box-2", beaten=False)
    header, first, second = (line.split() for line in run("list_workers").splitlines())
    assert header == ["WORKER", "ID", "STATUS", "HOST", "PID", "QUEUES", "JOBS", "HEARD"]
    assert first[:8] == ["box-1", str(worker.pk)[:8], "busy", "elsewhere", "4711", "media,", "slow", "1/1"]
    assert second[5:] == ["all", "0/1", "never"]


def test_offline_workers_are_listed_only_on_request():
    worker = make_worker("box")
    sign_off(worker.pk)
    assert run("list_workers") == "No worker is there; --all shows those that were.\n"
    assert [row["name"] for row in run_json("list_workers", "--all")["workers"]] == ["box"]


def test_an_empty_list_says_so():
    assert run("list_workers", "--all") == "No worker is registered.\n"
    assert run_json("list_workers") == {"workers": []}


def test_a_worker_is_disabled_by_name_and_enabled_again():
    worker = make_worker("box")
    assert run("disable_worker", "box", "--reason", "the fan").startswith("Worker box is disabled: it claims nothing")
    assert status(worker) == WorkerStatus.DISABLED
    assert JobEvent.objects.get(name=EventName.WORKER_DISABLED).reason == "the fan"
    assert run("enable_worker", "box") == "Worker box is enabled: its next heartbeat brings it back.\n"
    assert status(worker) == WorkerStatus.OFFLINE
    assert run("enable_worker", "box") == "Worker box was not disabled.\n"


def test_a_worker_is_drained():
    worker = make_worker("box")
    document = run_json("drain_worker", worker.pk)
    assert document == {"id": str(worker.pk), "name": "box", "status": "idle", "drain_requested": True}


def test_a_name_means_the_worker_that_is_there_not_its_predecessors():
    old, now = make_worker("box"), make_worker("box")
    sign_off(old.pk)
    run("disable_worker", "box")
    assert (status(old), status(now)) == (WorkerStatus.OFFLINE, WorkerStatus.DISABLED)


def test_enable_means_the_disabled_one_of_that_name():
    disabled = make_worker("box")
    disable(disabled.pk)
    make_worker("box")
    assert run_json("enable_worker", "box")["id"] == str(disabled.pk)


def test_a_name_that_several_have_is_refused_with_their_ids():
    first, second = make_worker("box"), make_worker("box")
    refusal = refused("disable_worker", "box")
    assert refusal.code == 2
    assert str(first.pk) in refusal.sentence
    assert str(second.pk) in refusal.sentence
    assert {status(first), status(second)} == {WorkerStatus.IDLE}


@pytest.mark.parametrize("cut", [4, 8, 23, 36])
def test_the_beginning_of_an_id_is_enough(cut):
    worker = make_worker("box")
    assert run_json("drain_worker", str(worker.pk)[:cut].upper())["name"] == "box"


@pytest.mark.parametrize(
    ("called", "code"), [("nobody", 1), ("", 1), ("%", 1), ("\x1b[2J", 1), ("abcd-", 1), ("\x00", 2), ("\udcff", 2)]
)
def test_a_worker_that_is_not_there_is_a_failure(called, code):
    make_worker("box")
    for command in ("disable_worker", "enable_worker", "drain_worker"):
        assert refused(command, called).code == code


def test_who_is_gone_is_not_said_to_be_draining():
    worker = make_worker("box")
    sign_off(worker.pk)
    assert "is offline: there is nothing to drain" in refused("drain_worker", "box").sentence
    worker.refresh_from_db()
    assert not worker.drain_requested
