"""Workers that have a server and no database: how soon they start, what ends them, and what an outage costs."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.db.models import Q

from jobs.lifecycle import worker_keys
from jobs.lifecycle.reap import reap_once
from jobs.models import Worker
from jobs.states import Status, WorkerStatus, WorkerType
from tests.concurrency.threads import scalar
from tests.factories import events_of, reload
from tests.web.server import WebServer
from tests.worker.checker import check
from tests.worker.cutting_proxy import cutting_proxy
from tests.worker.remote_stage import RemoteStage, awake, web_server
from tests.worker.stage import SHORT

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[WebServer]:
    with web_server(tmp_path_factory.mktemp("server"), JOBS_REAP_GRACE="30") as server:
        yield server


@pytest.fixture
def stage(tmp_path: Path, transactional_db: None, settings: LazySettings, server: WebServer) -> Iterator[RemoteStage]:
    for name, value in SHORT.items():
        setattr(settings, name, value)
    with awake(server):
        stage = RemoteStage(tmp_path, server)
        yield stage
        stage.end()


def is_online(stage: RemoteStage) -> bool:
    return "worker online" in stage.logs()


def test_an_idle_worker_is_woken_and_not_only_when_it_looks(stage: RemoteStage):
    worker = stage.worker(JOBS_POLL_INTERVAL="60")
    stage.wait_for(lambda: is_online(stage))
    for _ in range(3):  # the next hint is heard, too
        job_id = stage.add("app.short")
        assert stage.wait_for_end(job_id).status == Status.COMPLETED
    row = worker.row()
    assert (row.type, row.name, row.status) == (WorkerType.REMOTE, "remote-0", WorkerStatus.IDLE)


def test_a_clean_exit_is_quiet_and_names_the_worker_as_its_key_does(stage: RemoteStage):
    worker = stage.worker()
    stage.wait_for(lambda: is_online(stage))
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0
    assert stage.logs().splitlines()[-1].startswith("worker remote-0 done: 0 attempts")
    assert "WARNING" not in stage.logs()


def test_a_server_that_never_answered_is_told_by_the_exit_code(stage: RemoteStage):
    worker = stage.worker("--server", "http://127.0.0.1:9")
    stage.wait_for(lambda: "queue unavailable" in stage.logs())
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 1
    assert "The queue never answered, so that this worker did nothing at all: " in stage.logs().splitlines()[-1]


def test_a_key_that_is_revoked_ends_its_worker_with_a_clear_word(stage: RemoteStage):
    job_id = stage.add("app.chatty", max_attempts=2)
    worker = stage.worker()
    stage.wait_for_start(job_id)
    worker_keys.revoke(Q(worker__name="remote-0"))
    assert worker.exit_code() == 1
    assert "The key was revoked: this worker stops." in stage.logs().splitlines()[-1]
    assert stage.logs().count("The key was revoked") == 2, "once in the log, and once as the command's last word"
    assert "Traceback" not in stage.logs()


def test_a_process_that_starts_with_the_same_key_takes_over(stage: RemoteStage):
    key = str(stage.key_file("shared"))
    job_id = stage.add("app.resuming", max_attempts=3)
    first = stage.worker("--key-file", key)
    stage.wait_for_start(job_id)
    second = stage.worker("--key-file", key)
    assert first.exit_code() == 1
    assert "Another process has taken this worker's place" in first.log.read_text()
    stage.open_gate()
    assert stage.wait_for_end(job_id).result == {"read": 4711}
    assert Worker.objects.get(name="shared").pid == second.pid
    check(stage.history())


def test_a_server_that_is_away_for_longer_than_a_lease_costs_no_work(
    stage: RemoteStage, server: WebServer, settings: LazySettings
):
    settings.JOBS_REAP_GRACE, settings.JOBS_CLAIM_DURATION = 30, 3
    quick = stage.add("app.long", max_attempts=1)
    long = stage.add("app.resuming", {"gate": str(stage.folder / "later")}, max_attempts=1)
    careful = stage.add("app.careful", {"gate": str(stage.folder / "later")}, max_attempts=1)
    stage.worker("--processes", "3")
    for job_id in (quick, long, careful):
        stage.wait_for_start(job_id)
    server.stop()
    expired = "SELECT count(*) = 3 FROM jobs_job WHERE lease_expires_at < clock_timestamp() AND status = 'running'"
    stage.wait_for(lambda: scalar(expired))
    stage.open_gate()
    stage.wait_for(lambda: [line.job for line in stage.history("end")] == [quick])  # it ends while nobody can be told
    server.start()
    assert not reap_once().requeued
    assert stage.wait_for_end(quick).status == Status.COMPLETED
    stage.wait_for(lambda: len([line for line in stage.history("start") if line.job == careful]) >= 2)
    (stage.folder / "later").touch()
    for job_id in (long, careful):
        assert stage.wait_for_end(job_id).status == Status.COMPLETED
    assert events_of(long) == ["enqueued", "claimed", "completed"]  # it ran on, and kept its claim
    assert events_of(careful)[:4] == ["enqueued", "claimed", "released", "claimed"]  # stopped in time, uncharged,
    assert reload(careful).attempt == 1
    assert stage.result(careful)["attempts"] >= 2  # and went on from its checkpoint
    assert "queue unavailable" in stage.logs()
    check(stage.history())


@pytest.mark.parametrize("call", [b"/claim ", b"/finish "])
def test_what_the_server_did_and_nobody_heard_is_asked_again_and_done_once(stage: RemoteStage, server, call):
    with cutting_proxy(server.port) as proxy:
        stage.url = f"http://127.0.0.1:{proxy.port}"
        stage.worker(JOBS_POLL_INTERVAL="60")
        stage.wait_for(lambda: is_online(stage))
        for _ in range(10):  # a look that was under way already may have found it
            proxy.lose_answer_to(call)
            job_id = stage.add("app.short", max_attempts=1)
            assert stage.wait_for_end(job_id).status == Status.COMPLETED
            if proxy.lost.is_set():
                break
        stage.wait_for(lambda: "queue unavailable" in stage.logs())
        second = stage.add("app.short", max_attempts=1)
        assert stage.wait_for_end(second).status == Status.COMPLETED
        assert events_of(job_id) == ["enqueued", "claimed", "completed"]
        check(stage.history())
        stage.end()
