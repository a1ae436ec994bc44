"""`set_limit`, and `pause_queue` and `resume_queue` of kinds, scopes and keys."""

import pytest

from jobs.lifecycle.claim import claim
from jobs.models import JobEvent, Limit
from tests.commands.calls import refused, run, run_json
from tests.factories import claimed, make_job, make_worker

pytestmark = pytest.mark.django_db


def test_a_limit_is_set_replaced_and_lifted():
    claimed(queue="media")
    told = run("set_limit", "--queue", "media", "--running", "2", "--rate", "100/m", "--reason", "small disk")
    assert told == "Limit of queue media: at most 2 at once, at most 100 in 60 s. Now 1 running.\n"
    document = run_json("set_limit", "--queue", "media", "--window", "22:00-06:00", "--time-zone", "Europe/Berlin")
    assert (document["max_running"], document["window"], document["running"]) == (None, "22:00-06:00", 1)
    assert run("set_limit", "--queue", "media", "--lift") == "The limit of queue media is lifted.\n"
    assert not Limit.objects.exists()
    assert "small disk" in JobEvent.objects.filter(name="limit_set")[0].reason


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--running", "1"], "Name one: --queue, --kind, --scope or --key."),
        (["--queue", "a", "--kind", "b", "--running", "1"], "Name one"),
        (["--queue", "a"], "--running, --rate or --window"),
        (["--queue", "a", "--running", "0"], "from 1 to"),
        (["--queue", "a", "--rate", "often"], "as in 100/m"),
        (["--queue", "a", "--window", "night"], "as in 22:00-06:00"),
        (["--queue", "a", "--lift", "--running", "1"], "leave the other options out"),
    ],
)
def test_what_cannot_be_set_is_refused(arguments, words):
    refusal = refused("set_limit", *arguments)
    assert refusal.code == 2
    assert words in refusal.sentence
    assert not Limit.objects.exists()


def test_a_kind_that_has_no_handler_here_is_doubted(capsys):
    run("set_limit", "--kind", "test.nop", "--running", "1")
    assert "Did you mean 'test.noop'?" in capsys.readouterr().err
    run("set_limit", "--kind", "test.noop", "--running", "1")
    assert capsys.readouterr().err == ""
    assert Limit.objects.count() == 2


def test_a_limit_that_is_not_there_cannot_be_lifted():
    assert refused("set_limit", "--kind", "a", "--lift").sentence == "There is no limit of the kind a."


@pytest.mark.parametrize("target", ["kind", "scope", "key"])
def test_a_kind_a_scope_or_a_key_is_paused_and_resumed(target):
    make_job(scope="x", limit_key="x")
    name = "test.noop" if target == "kind" else "x"
    assert run("pause_queue", f"--{target}", name) == f"{target.capitalize()} {name} is paused.\n"
    assert "was paused already" in run("pause_queue", f"--{target}", name)
    assert claim(make_worker()) == []
    assert "paused; 0 running, 1 held back" in run("queue_status")
    (shown,) = run_json("queue_status")["limits"]
    assert (shown["target"], shown["paused"], shown["held_back"]) == (target, True, 1)
    assert run_json("resume_queue", f"--{target}", name)["changed"] is True
    assert "was not paused" in run("resume_queue", f"--{target}", name)
    assert len(claim(make_worker())) == 1


def test_show_job_says_what_it_waits_for():
    run("set_limit", "--key", "customer-*", "--running", "1")
    claimed(limit_key="customer-7")
    waiting = make_job(limit_key="customer-7")
    assert claim(make_worker()) == []
    assert "held back: 1 of 1 jobs of key customer-7 run" in " ".join(run("show_job", waiting.pk).split())


def test_enqueue_takes_a_limit_key_and_a_size():
    job_id = run_json("enqueue", "test.noop", "--limit-key", "library-7", "--size", "123")["job_id"]
    assert list(Limit.objects.all()) == []
    shown = run("show_job", job_id)
    assert "library-7" in shown
