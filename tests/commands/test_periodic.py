"""`list_periodic` shows what ticks, `run_periodic` starts what is due."""

import json
import signal
from datetime import timedelta

import pytest

from jobs.handlers.periodic import Declaration, declarations
from jobs.lifecycle.periodic.edit import edit, run_now
from jobs.lifecycle.periodic.sync import sync
from jobs.models import Job, PeriodicJob
from tests.commands.calls import run, run_json
from tests.commands.test_endless import line_of, running
from tests.factories import make_due, make_periodic

pytestmark = pytest.mark.django_db


def test_where_there_is_none_it_says_how_to_get_one():
    assert "Declare one with @periodic" in run("list_periodic")
    assert run_json("list_periodic") == {"periodic_jobs": []}


def test_each_is_a_row_with_its_next_and_last_run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    make_periodic("mine", "0 3 * * *", timezone="Europe/Berlin")
    sync(
        [Declaration("declared", "test.noop", "every 1h"), Declaration("vanished", "test.noop", "@daily")],
        ["test.noop"],
    )
    sync([Declaration("declared", "test.noop", "every 1h")], ["test.noop"])
    edit("declared", enabled=False)
    job_id = run_now("mine")
    lines = {line.split()[0]: line for line in run("list_periodic").splitlines()}
    for text in ("on", "0 3 * * *", "Europe/Berlin", "in ", "ago", str(job_id), "unclaimed", "made by hand"):
        assert text in lines["mine"]
    assert "off" in lines["declared"]
    assert "code, edited" in lines["declared"]
    assert "gone" in lines["vanished"]


def test_json_has_every_column_and_what_is_derived():
    make_periodic(payload={"month": 5})
    run_now("nightly")
    [shown] = run_json("list_periodic")["periodic_jobs"]
    assert (shown["state"], shown["payload"], shown["last_job_state"]) == ("on", {"month": 5}, "unclaimed")
    assert (shown["next_at"][-1], shown["time_zone"]) == ("Z", "UTC")


def test_a_kind_without_a_handler_here_is_told():
    sync([Declaration("far", "test.elsewhere", "@daily")], ["test.elsewhere"])
    assert "no handler" in run("list_periodic")


def test_run_periodic_stores_what_is_declared_and_enqueues_what_is_due(settings):
    declarations.add(Declaration("nightly", "test.noop", "every 1h"))
    try:
        assert run("run_periodic") == "Nothing is due.\n"
        make_due(PeriodicJob.objects.get(), since=timedelta(hours=2))
        told = run("run_periodic")
        job = Job.objects.get()
        assert told == f"Enqueued: 1 job ({job.pk}).\nMissed, and given no job of their own: nightly.\n"
    finally:
        declarations.remove("nightly")
    document = run_json("run_periodic")
    assert document.pop("next_in") is None, "its declaration is gone"
    assert document == {"enqueued": [], "skipped": [], "missed": [], "refused": [], "failed": []}


@pytest.mark.django_db(transaction=True)
def test_with_loop_it_starts_each_on_time_until_a_signal():
    make_periodic("often", "every 1s", kind="demo.flaky")
    with running("run_periodic", "--loop", "--json") as process:
        enqueued: list[int] = []
        while len(enqueued) < 2:
            document = json.loads(line_of(process))
            enqueued += document["enqueued"]
            assert document["next_in"] <= 1
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 0
    assert len(set(enqueued)) == len(enqueued)
