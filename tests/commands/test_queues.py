"""`pause_queue` and `resume_queue`."""

import pytest

from jobs.models import Queue
from tests.commands.calls import refused, run, run_json
from tests.factories import claimed, make_job

pytestmark = pytest.mark.django_db


def test_a_queue_is_paused_and_what_it_holds_is_told():
    claimed(queue="media")
    make_job(queue="media")
    told = run("pause_queue", "media", "--reason", "new disk")
    assert told == "Queue media is paused. In it: 1 job waiting, 1 job running.\n"
    assert Queue.objects.get().reason == "new disk"


def test_a_name_without_jobs_is_told_for_it_may_be_a_mistake():
    assert run("pause_queue", "meida") == "Queue meida is paused. No job is in it.\n"


def test_pausing_and_resuming_twice_changes_nothing_and_is_no_failure():
    assert run_json("pause_queue", "media") == {"queue": "media", "paused": True, "changed": True}
    assert run_json("pause_queue", "media") == {"queue": "media", "paused": True, "changed": False}
    assert "was paused already" in run("pause_queue", "media")
    assert run_json("resume_queue", "media") == {"queue": "media", "paused": False, "changed": True}
    assert run_json("resume_queue", "media") == {"queue": "media", "paused": False, "changed": False}
    assert run("resume_queue", "media") == "Queue media was not paused.\n"


@pytest.mark.parametrize("command", ["pause_queue", "resume_queue"])
@pytest.mark.parametrize("name", ["", "a b", "q" * 101, "\x1b[2J", "a\nb", "../x"])
def test_a_name_no_queue_can_have_is_refused(command, name):
    refusal = refused(command, name)
    assert refusal.code == 2
    assert "is not valid: use 1 to 100 letters" in refusal.sentence
    assert not Queue.objects.exists()


@pytest.mark.parametrize("reason", ["\x00", "r" * 501, "\ud800"])
def test_a_reason_that_cannot_be_stored_is_refused(reason):
    assert refused("pause_queue", "media", "--reason", reason).code == 2
    assert not Queue.objects.filter(paused=True).exists()
