"""What a worker does, with the database at hand and over HTTP alike."""

import json
import signal
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import TracerProvider

from jobs import tracing
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable, drain, enable
from jobs.states import Status, WorkerStatus
from tests.factories import events_of, reload
from tests.worker.checker import check
from tests.worker.stage import Stage, thaw

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_it_runs_jobs_and_stores_whatever_their_handlers_say(stage: Stage):
    told = stage.add("app.eloquent", max_attempts=2)
    phased, parent, fatal = stage.add("app.phased"), stage.add("app.parent"), stage.add("app.fatal")
    stage.open_gate()
    stage.run("--queue", "default")

    job = reload(told)
    assert (job.status, job.attempt, job.progress) == (Status.COMPLETED, 2, 100)
    assert job.result == {"checkpoint": {"read": [1, 2, {"deep": None}]}, "qualities": ["720p"], "text": "? ü �"}
    rows = {row.name: row for row in job.qualities.all()}
    assert (rows["720p"].status, rows["720p"].segments_total, rows["720p"].details) == ("completed", 4, {"fps": 25})
    assert (rows["1080p"].status, rows["1080p"].error) == ("skipped", "larger than the source")
    assert events_of(told)[-3:] == ["retrying", "claimed", "completed"]

    assert reload(phased).result == "of the first, and the second, and the third"
    assert {phase.status for phase in reload(phased).phases.all()} == {"completed"}
    assert reload(parent).result == ["worked at 1", "worked at 1"]
    assert (reload(fatal).status, reload(fatal).attempt) == (Status.FAILED, 1)
    assert "This cannot be done." in reload(fatal).last_error
    check(stage.history())


def test_operators_cancel_disable_enable_and_drain_it(stage: Stage):
    unwanted, job_id = stage.add("app.chatty", priority=1), stage.add("app.chatty", max_attempts=2)
    worker = stage.worker()
    stage.wait_for_start(unwanted)
    cancel(unwanted)
    assert stage.wait_for_end(unwanted).status == Status.CANCELLED

    stage.wait_for_start(job_id)
    disable(worker.row().pk)
    stage.wait_for(lambda: reload(job_id).status == Status.PENDING)
    assert (reload(job_id).attempt, events_of(job_id)[-1]) == (0, "released")
    beaten = worker.row().last_heartbeat
    stage.wait_for(lambda: worker.row().last_heartbeat != beaten)
    assert worker.row().status == WorkerStatus.DISABLED

    enable(worker.row().pk)
    stage.wait_for(lambda: reload(job_id).status == Status.RUNNING)
    drain(worker.row().pk)
    stage.wait_for(lambda: "asked to drain" in stage.logs())
    cancel(job_id)
    assert worker.exit_code() == 0
    assert reload(job_id).status == Status.CANCELLED
    assert worker.row().status == WorkerStatus.OFFLINE


def test_who_lost_its_claim_stops_and_says_nothing(stage: Stage):
    job_id = stage.add("app.chatty", max_attempts=3)
    worker = stage.worker()
    first = stage.wait_for_start(job_id)
    frozen = worker.freeze()
    stage.wait_for(lambda: reap_once().requeued == [job_id])
    thaw(frozen)
    stage.wait_for(lambda: len(stage.history("start")) == 2)
    assert "claim lost" in stage.logs()
    assert stage.history("start")[1].claim != first.claim
    check(stage.history())


def test_told_to_stop_it_hands_its_job_back_uncharged_and_signs_off(stage: Stage):
    job_id = stage.add("app.chatty", max_attempts=1)
    worker = stage.worker(JOBS_SHUTDOWN_TIMEOUT="0.1")
    stage.wait_for_start(job_id)
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    job = reload(job_id)
    assert (job.status, job.attempt, events_of(job_id)[-1]) == (Status.PENDING, 0, "released")
    assert worker.row().status == WorkerStatus.OFFLINE


def test_killed_its_job_is_reaped_and_goes_on_from_its_checkpoint_elsewhere(stage: Stage):
    job_id = stage.add("app.resuming", max_attempts=2)
    worker = stage.worker()
    stage.wait_for_start(job_id)
    worker.send(signal.SIGKILL)
    worker.exit_code()
    stage.wait_for(lambda: reap_once().requeued == [job_id])
    stage.open_gate()
    other = stage.add("app.short", priority=-1)
    assert stage.worker("--max-jobs", "1").exit_code() == 0
    job = reload(job_id)
    assert (job.status, job.attempt, job.crashes, job.result) == (Status.COMPLETED, 2, 1, {"read": 4711})
    assert reload(other).status == Status.PENDING
    check(stage.history())


def test_one_trace_from_whoever_enqueues_to_the_attempt(stage: Stage, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(tracing, "PROVIDER", TracerProvider())
    job_id = stage.add("app.short")
    context = reload(job_id).trace_context
    assert context
    file = tmp_path / "traces"
    stage.run(TEST_APPS="tests.traced_app", TRACES=str(file))
    seen = {line["name"]: line for line in map(json.loads, file.read_text().splitlines())}
    assert set(seen) == {"claim", "run app.short", "finish"}
    trace_id, span_id = context.split("-")[1:3]
    ran = seen["run app.short"]
    assert (ran["context"]["trace_id"], ran["parent_id"]) == (f"0x{trace_id}", f"0x{span_id}")
    for name in ("claim", "finish"):
        assert seen[name]["links"][0]["context"]["span_id"] == f"0x{span_id}"
        assert seen[name]["pid"] != ran["pid"], "the handler ran in a child"
