"""Workers reap in turn: however many ask, it is done about once per interval, and by each machine for itself."""

from dataclasses import replace

import pytest

from jobs.lifecycle import turns
from jobs.lifecycle.reap import reap_in_turn, reap_once
from jobs.models import QueueDelta, Turn, Worker
from jobs.process_identity import ProcessIdentity, this_process
from jobs.states import Status, WorkerStatus
from tests.factories import ELSEWHERE, age, claimed, make_job, make_worker, reload
from tests.processes import dead_process

ANOTHER_MACHINE = replace(this_process(), boot_id="another boot")
ANOTHER_CONTAINER = replace(this_process(), pid_namespace=1)


def stranded() -> Worker:
    """A worker that has been silent for too long."""
    worker = make_worker()
    age(300)
    return worker


def is_offline(worker: Worker) -> bool:
    return Worker.objects.get(pk=worker.pk).status == WorkerStatus.OFFLINE


def test_the_first_that_asks_does_everything():
    ref, silent = claimed(make_worker(process=dead_process())), stranded()
    result = reap_in_turn()
    assert result
    assert result.requeued == [ref.job_id]
    assert is_offline(silent)
    assert not QueueDelta.objects.exists()


def test_whoever_asks_next_is_told_that_it_is_not_its_turn():
    assert reap_in_turn()
    silent = stranded()
    Turn.objects.update(taken_at=turns.Now())
    assert reap_in_turn() is None
    assert not is_offline(silent)


@pytest.mark.parametrize(("seconds", "turn"), [(40, False), (48, True), (60, True)])
def test_who_comes_a_jitter_early_is_not_sent_away(seconds, turn):
    reap_in_turn()
    age(seconds)
    assert bool(reap_in_turn()) == turn


def test_the_interval_is_the_setting(settings):
    settings.JOBS_REAP_INTERVAL = 600
    reap_in_turn()
    age(60)
    assert reap_in_turn() is None
    age(600)
    assert reap_in_turn()


@pytest.mark.parametrize("here", [ANOTHER_MACHINE, ANOTHER_CONTAINER])
def test_each_machine_looks_after_its_own_dead(here):
    assert reap_in_turn(here)
    ref = claimed(make_worker(process=dead_process()))
    result = reap_in_turn()
    assert result
    assert result.requeued == [ref.job_id]
    assert reap_in_turn() is None


def test_but_one_of_all_judges():
    assert reap_in_turn(ANOTHER_MACHINE)
    silent = make_worker()
    Worker.objects.filter(pk=silent.pk).update(last_heartbeat="2020-01-01T00:00:00Z")
    make_job()
    assert reap_in_turn()
    assert not is_offline(silent)
    assert QueueDelta.objects.exists()


def test_where_nothing_can_be_proven_no_turn_is_taken_for_it():
    assert reap_in_turn(ELSEWHERE)
    assert [turn.name for turn in Turn.objects.all()] == ["reap"]
    assert reap_in_turn(ELSEWHERE) is None


def test_reap_once_asks_nobody():
    assert reap_in_turn()
    ref = claimed(make_worker(process=dead_process()))
    assert reap_once().requeued == [ref.job_id]
    assert reload(ref).status == Status.PENDING


def test_turns_of_machines_that_are_gone_are_forgotten():
    reap_in_turn(ANOTHER_MACHINE)
    age(2 * 86_400)
    reap_in_turn()
    assert Turn.objects.count() == 2
    assert not Turn.objects.filter(name__contains="another boot").exists()


def test_the_longest_names_fit():
    here = ProcessIdentity("host", 1, boot_id="x" * 64, pid_namespace=2**63 - 1, start_ticks=1)
    assert reap_in_turn(here)
    assert reap_in_turn(here) is None
