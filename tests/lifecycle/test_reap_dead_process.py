"""Rule (a): jobs of a process that is proven dead are taken back at once; nothing else is proven by it."""

import os
from dataclasses import replace

import pytest

from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable, sign_off
from jobs.models import JobEvent, Worker
from jobs.process_identity import ProcessIdentity, this_process
from jobs.states import Status, WorkerStatus
from tests.factories import claimed, events_of_worker, make_worker, reload
from tests.processes import dead_process, running_process


def test_the_job_of_a_dead_process_is_taken_back_though_its_lease_holds():
    ref = claimed(worker := make_worker("w1", process=dead_process()))
    result = reap_once()
    assert (result.requeued, result.workers_offline) == ([ref.job_id], ["w1"])
    job = reload(ref)
    assert (job.status, job.attempt, job.crashes) == (Status.PENDING, 1, 1)
    assert (job.last_worker_id, job.last_worker_name) == (worker.pk, "w1")
    assert Worker.objects.get().status == WorkerStatus.OFFLINE
    event = JobEvent.objects.get(name="reaped")
    assert (event.worker_id, event.claim_id, event.attempt) == (worker.pk, ref.claim_id, 1)
    assert "process of its worker is gone" in event.reason


def test_the_job_of_a_living_process_stays():
    with running_process() as (_, process):
        ref = claimed(make_worker(process=process))
        assert reap_once().jobs == 0
        assert reload(ref).status == Status.RUNNING


def test_a_process_that_nobody_has_waited_for_is_dead_too():
    with running_process() as (child, process):
        ref = claimed(make_worker(process=process))
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has exited, and is left as a zombie
        assert reap_once().requeued == [ref.job_id]


def test_a_pid_that_another_process_uses_now_is_no_life():
    here = this_process()
    ref = claimed(make_worker(process=replace(here, start_ticks=here.start_ticks - 1)))
    assert reap_once().requeued == [ref.job_id]


def test_the_hostname_proves_nothing():
    same_name = replace(this_process(), pid=1, boot_id="another boot")
    other_name = replace(dead_process(), hostname="another name")
    near, far = claimed(make_worker(process=other_name)), claimed(make_worker(process=same_name))
    assert reap_once().requeued == [near.job_id]
    assert reload(far).status == Status.RUNNING


ELSEWHERE = {
    "another boot": {"boot_id": "00000000-0000-0000-0000-000000000000"},
    "another pid namespace": {"pid_namespace": 1},
    "an unknown boot": {"boot_id": ""},
    "an unknown pid namespace": {"pid_namespace": 0},
    "an unknown start": {"start_ticks": 0},
}


@pytest.mark.parametrize("difference", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_process_that_ran_elsewhere_is_not_judged(difference):
    ref = claimed(make_worker(process=replace(dead_process(), **difference)))
    assert reap_once().jobs == 0
    assert reload(ref).status == Status.RUNNING


def test_where_nothing_can_be_proven_the_rule_is_off():
    ref = claimed(make_worker(process=dead_process()))
    assert reap_once(here=ProcessIdentity("no /proc here", 1)).jobs == 0
    assert reload(ref).status == Status.RUNNING


def test_a_disabled_worker_stays_disabled_and_loses_its_job():
    ref = claimed(worker := make_worker(process=dead_process()))
    disable(worker.pk)
    assert reap_once().requeued == [ref.job_id]
    assert Worker.objects.get().status == WorkerStatus.DISABLED


def test_a_worker_that_was_offline_before_still_loses_its_job():
    ref = claimed(worker := make_worker(process=dead_process()))
    sign_off(worker.pk)
    assert reap_once().requeued == [ref.job_id]
    assert events_of_worker(worker).count("worker_offline") == 1


def test_a_dead_worker_without_jobs_is_marked_offline_once():
    worker = make_worker(process=dead_process())
    assert reap_once().workers_offline == ["worker"]
    assert reap_once().workers_offline == []
    assert events_of_worker(worker) == ["worker_online", "worker_offline"]


def test_a_successor_of_the_same_name_keeps_its_own_jobs():
    old = claimed(make_worker("w1", process=dead_process()))
    with running_process() as (_, process):
        new = claimed(make_worker("w1", process=process), queue="other")
        assert reap_once().requeued == [old.job_id]
        assert reload(new).status == Status.RUNNING
