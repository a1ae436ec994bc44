"""`check_worker`: what a container's probe is told."""

import os
from datetime import timedelta

import pytest
from django.db.models import F

from jobs.lifecycle.workers import disable, drain, sign_off
from jobs.models import Worker
from jobs.process_identity import this_process
from jobs.selectors.worker_check import check_here
from tests.commands.calls import Refusal, refused, run, run_json
from tests.factories import ELSEWHERE, age, make_worker

pytestmark = pytest.mark.django_db


def test_a_worker_of_this_machine_that_was_heard_of_is_well():
    make_worker("w", process=this_process())
    assert run("check_worker").startswith("Worker w is idle; it was heard of")
    assert run("check_worker", "--here") == run("check_worker", "--name", "w")
    assert run_json("check_worker")["ok"] is True


def test_one_that_never_beat_is_given_the_same_time():
    make_worker("w", process=this_process(), beaten=False)
    run("check_worker")
    age(121)
    assert "silent for 2m1s" in refused("check_worker").sentence


@pytest.mark.parametrize(("seconds", "well"), [(119, True), (122, False)])
def test_silence_counts_from_the_threshold(seconds, well):
    make_worker("w", process=this_process())
    age(seconds)
    assert check_here().ok is well


def test_without_a_worker_here_one_elsewhere_does_not_count():
    make_worker("w", process=ELSEWHERE)
    assert refused("check_worker").sentence.startswith("No worker of this machine")
    run("check_worker", "--name", "w")
    assert refused("check_worker", "--name", "x") == Refusal(1, "No worker of the name x has ever registered.")


def test_the_reason_says_what_is_wrong():
    worker = make_worker("w", process=this_process())
    sign_off(worker.pk)
    assert "Worker w is offline" in refused("check_worker").sentence
    disable(worker.pk)
    assert "enable_worker w" in refused("check_worker").sentence
    problem = refused("check_worker", "--json")
    assert problem.code == 1
    assert '"ok": false' in problem.printed


def test_one_that_drains_is_well_until_it_exits():
    drain(make_worker("w", process=this_process()).pk)
    run("check_worker")


@pytest.mark.skipif(not os.path.exists("/proc/self/ns/pid"), reason="needs /proc")
def test_a_dead_process_is_seen_before_its_heartbeat_is_late():
    worker = make_worker("w", process=this_process())
    Worker.objects.filter(pk=worker.pk).update(start_ticks=F("start_ticks") + 1)
    assert "is gone" in refused("check_worker").sentence


def test_one_that_is_well_makes_up_for_predecessors():
    sign_off(make_worker("w", process=this_process()).pk)
    make_worker("w", process=this_process())
    sign_off(make_worker("w", process=this_process()).pk)
    Worker.objects.update(registered_at=F("registered_at") - timedelta(seconds=1))
    run("check_worker")
