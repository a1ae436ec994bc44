"""One process speaks for a remote worker: who may take over, and what becomes of what was held."""

from uuid import UUID, uuid4

import pytest
from django.http import HttpRequest

from jobs.api.worker import registering
from jobs.api.worker.authentication import process_of
from jobs.lifecycle.workers import disable
from jobs.models import Worker
from jobs.states import Status, WorkerStatus
from tests.api.calls import error_of
from tests.api.worker.calls import Machine, machine
from tests.factories import age, events_of_worker, make_job, reload

pytestmark = pytest.mark.django_db


def successor(of: Machine, *, here: bool = False) -> Machine:
    return Machine(of.worker_id, of.key, boot_id=of.boot_id if here else str(uuid4()))


def test_a_start_tells_what_a_worker_must_know_and_may_be_repeated():
    box = machine("gpu-box", capabilities={"gpu": True}, slots=4, queues=["media"])
    job = make_job(queue="media")
    claim_id = box.claimed(job)
    told = [box.start(slots=9).json() for _ in range(2)]
    assert told[0]["worker_id"] == str(box.worker_id)
    assert (told[0]["name"], told[0]["heartbeat_interval"], told[0]["longest_wait"]) == ("gpu-box", 30, 25)
    assert (box.worker.slots, box.worker.gpu, box.worker.queues) == (4, True, ["media"])
    assert box.verify(job.pk, claim_id).status_code == 200
    assert events_of_worker(box.worker_id) == ["worker_online"]


@pytest.mark.parametrize("why", ["same machine", "signed off", "silent"])
def test_another_process_takes_over_and_what_the_old_one_held_is_taken_back(why: str):
    old = machine()
    job = make_job()
    claim_id = old.claimed(job)
    new = successor(old, here=why == "same machine")
    if why == "signed off":
        assert [old.post("stop").status_code for _ in range(2)] == [200, 200]
        assert old.worker.status == WorkerStatus.OFFLINE
    if why == "silent":
        age(121)
    assert new.start().status_code == 200
    assert (reload(job).status, reload(job).crashes) == (Status.PENDING, 1)
    assert error_of(old.post("heartbeat"), 409)[0] == "replaced"
    assert error_of(old.post("stop"), 409)[0] == "replaced"
    assert error_of(old.verify(job.pk, claim_id), 409)[0] == "replaced"
    again = new.claimed(job)
    assert new.start().status_code == 200  # a repeated start takes nothing of its own away
    assert new.verify(job.pk, again).status_code == 200


def test_a_process_that_signs_off_tells_what_it_did():
    box = machine()
    assert box.post("stop", {"metadata": {"jobs": 3, "failed": 1}}).status_code == 200
    assert box.worker.metadata == {"jobs": 3, "failed": 1}
    assert error_of(box.post("stop", {"metadata": {"notes": "x" * 20_000}}), 413)[0] == "too_large"


def test_a_stop_that_comes_late_does_not_sign_off_who_took_over_meanwhile(monkeypatch: pytest.MonkeyPatch):
    old = machine()
    new, job = successor(old, here=True), make_job()
    held: list[str] = []

    def overtaken(request: HttpRequest) -> UUID | None:
        """Between the check of the key, which reads the row, and the stop."""
        assert new.start().status_code == 200
        held.append(new.claimed(job))
        return process_of(request)

    monkeypatch.setattr(registering, "process_of", overtaken)
    assert error_of(old.post("stop"), 409)[0] == "replaced"
    assert new.worker.process_uuid == new.process
    assert new.worker.status != WorkerStatus.OFFLINE
    assert new.verify(job.pk, held[0]).status_code == 200


def test_a_key_that_is_at_work_elsewhere_is_in_use():
    old = machine()
    new = successor(old)
    code, message = error_of(new.start(), 409)
    assert (code, "register a key for each machine" in message) == ("in_use", True)
    assert old.post("heartbeat").status_code == 200


def test_a_process_that_the_server_does_not_know_starts_again():
    box = machine(started=False)
    box.process = uuid4()
    assert error_of(box.post("heartbeat"), 409)[0] == "not_started"
    assert box.start().status_code == 200
    assert box.post("heartbeat").status_code == 200
    box.process = None
    assert error_of(box.post("heartbeat"), 409)[0] == "replaced"
    assert error_of(box.post("heartbeat", **{"X-Worker-Process": "x"}), 422)[0] == "invalid"


def test_disabled_is_disabled_over_restarts_and_a_drain_is_over():
    box = machine()
    disable(box.worker_id)
    box.post("stop")
    Worker.objects.update(drain_requested=True)
    new = successor(box)
    assert new.start().status_code == 200
    assert (new.worker.status, new.worker.drain_requested) == (WorkerStatus.DISABLED, False)
