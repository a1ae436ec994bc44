"""Workers: registered, disabled and enabled by an operator, drained, signed off."""

from uuid import uuid4

import pytest

from jobs.exceptions import InvalidInput, WorkerNotFound, WorkerNotGone
from jobs.lifecycle.finish import complete
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable, drain, enable, register, remove, sign_off
from jobs.models import JobEvent, Worker
from jobs.process_identity import this_process
from jobs.states import EventName, WorkerStatus, WorkerType
from tests.factories import age, claimed, events_of_worker, make_worker


def test_a_worker_is_stored_with_what_it_says_of_itself():
    here = this_process()
    worker = register(
        "w1",
        here,
        queues=["a", "b"],
        slots=4,
        worker_type=WorkerType.REMOTE,
        version="1.2",
        capabilities={"gpu": True, "encoders": ["nvenc"]},
        metadata={"site": "attic"},
    )
    stored = Worker.objects.get()
    assert stored == worker
    assert (stored.status, stored.type, stored.version) == (WorkerStatus.ACTIVE, "remote", "1.2")
    assert (stored.queues, stored.slots, stored.gpu) == (["a", "b"], 4, True)
    assert (stored.capabilities, stored.metadata) == ({"gpu": True, "encoders": ["nvenc"]}, {"site": "attic"})
    assert stored.process == here
    assert (stored.registered_at is None, stored.last_heartbeat) == (False, None)
    assert events_of_worker(worker) == ["worker_online"]


def test_a_process_that_registers_again_is_a_new_worker():
    first, second = register("w1", this_process()), register("w1", this_process())
    assert first.pk != second.pk
    claimed(first)
    assert heartbeat(second.pk).lost == ()
    assert Worker.objects.count() == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": "   "}, "needs a name"),
        ({"name": "n" * 201}, "at most 200"),
        ({"name": "a\x00"}, "NUL"),
        ({"slots": 0}, "1 to 32767 slots"),
        ({"slots": 32768}, "1 to 32767 slots"),
        ({"slots": 2.5}, "1 to 32767 slots"),
        ({"version": "v" * 51}, "version has 51 characters"),
        ({"queues": ["no queue"]}, "queue name"),
    ],
)
def test_a_worker_that_makes_no_sense_is_refused(options, words):
    with pytest.raises(InvalidInput, match=words):
        register(**{"name": "w1", "process": this_process(), **options})
    assert not Worker.objects.exists()


def test_facts_that_cannot_be_stored_are_cleaned_or_cut():
    worker = register("w1", this_process(), capabilities={"a": float("nan")}, metadata={"b": "x" * 100_000})
    assert worker.capabilities == {"a": None}
    assert worker.metadata["cut"] is True


def test_disabled_is_an_operators_word_that_only_enable_undoes():
    worker = make_worker()
    ref = claimed(worker)
    assert disable(worker.pk, "too hot").status == WorkerStatus.DISABLED
    heartbeat(worker.pk, [ref])
    complete(ref)
    drain(worker.pk)
    sign_off(worker.pk)
    age(10_000)
    reap_once()
    heartbeat(worker.pk)
    assert Worker.objects.get().status == WorkerStatus.DISABLED
    assert enable(worker.pk).status == WorkerStatus.OFFLINE
    heartbeat(worker.pk)
    assert Worker.objects.get().status == WorkerStatus.IDLE
    assert JobEvent.objects.get(name="worker_disabled").reason == "too hot"
    assert JobEvent.objects.filter(name="worker_enabled").count() == 1


def test_enabling_a_worker_that_is_not_disabled_changes_nothing():
    worker = make_worker()
    assert enable(worker.pk).status == WorkerStatus.IDLE
    assert events_of_worker(worker) == ["worker_online"]


def test_draining_is_remembered_until_the_worker_exits():
    worker = make_worker()
    assert drain(worker.pk, "by anna").drain_requested
    heartbeat(worker.pk)
    drain(worker.pk)
    assert Worker.objects.get().drain_requested
    assert JobEvent.objects.get(name="worker_drained").reason == "by anna"


def test_a_worker_that_is_gone_can_be_removed():
    worker = make_worker()
    sign_off(worker.pk)
    remove(worker.pk, "by anna")
    assert not Worker.objects.exists()
    assert events_of_worker(worker.pk) == ["worker_online", "worker_offline", "worker_removed"]


def test_a_worker_that_lives_or_is_disabled_stays():
    worker = make_worker()
    with pytest.raises(WorkerNotGone, match="is idle"):
        remove(worker.pk)
    disable(worker.pk)
    with pytest.raises(WorkerNotGone, match="is disabled"):
        remove(worker.pk)
    assert Worker.objects.exists()


def test_an_offline_worker_stays_while_a_job_is_in_its_name():
    worker = make_worker()
    claimed(worker)
    sign_off(worker.pk)
    with pytest.raises(WorkerNotGone, match="still has a running job"):
        remove(worker.pk)


def test_a_worker_that_exits_says_so():
    worker = make_worker()
    assert sign_off(worker.pk).status == WorkerStatus.OFFLINE
    sign_off(worker.pk)
    assert events_of_worker(worker) == ["worker_online", "worker_offline"]


def test_a_worker_that_exits_is_heard_and_tells_what_it_did_whatever_became_of_it():
    worker = register("w1", this_process(), metadata={"site": "attic"})
    disable(worker.pk)
    left = sign_off(worker.pk, {"jobs": 2})
    assert (left.status, left.metadata) == (WorkerStatus.DISABLED, {"site": "attic", "jobs": 2})
    assert left.last_heartbeat
    assert sign_off(worker.pk).metadata == left.metadata


@pytest.mark.parametrize("verb", [disable, enable, drain, remove, sign_off])
def test_a_worker_that_does_not_exist_is_told_so(verb):
    worker_id = uuid4()
    with pytest.raises(WorkerNotFound, match=str(worker_id)):
        verb(worker_id)


def test_who_says_its_own_id_may_repeat_the_call_and_is_one_worker():
    own = uuid4()
    first, again = (register("one", this_process(), worker_id=own) for _ in range(2))
    assert first == again
    assert Worker.objects.count() == JobEvent.objects.filter(name=EventName.WORKER_ONLINE).count() == 1
