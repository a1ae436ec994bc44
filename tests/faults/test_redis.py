"""Worker processes and a real Redis: woken by it, at work without it, and woken again when it is back."""

import pytest

from jobs.states import Status
from tests.dispatch.fixtures import redis_server
from tests.redis_server import RedisServer
from tests.worker.stage import Stage, WorkerProcess

__all__ = ["redis_server"]
pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]


def worker_with(stage: Stage, server: RedisServer, dispatch: str, *flags: str, poll: str = "") -> WorkerProcess:
    return stage.worker(*flags, JOBS_DISPATCH=dispatch, JOBS_REDIS_URL=server.url, JOBS_POLL_INTERVAL=poll)


def is_online(worker: WorkerProcess) -> bool:
    return "worker online" in worker.log.read_text()


def listening(server: RedisServer) -> int:
    with server.client() as client:
        return len([each for each in client.client_list() if each["cmd"] == "xreadgroup"])


def test_jobs_are_done_with_redis_without_it_and_with_it_again(stage: Stage, redis_server: RedisServer):
    worker = worker_with(stage, redis_server, "redis")
    stage.wait_for(lambda: listening(redis_server))
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    redis_server.kill()
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED  # by polling
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    stage.wait_for(lambda: "Redis does not answer" in worker.log.read_text())
    redis_server.start()
    stage.wait_for(lambda: listening(redis_server))  # by itself
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    assert "Traceback" not in worker.log.read_text()
    assert worker.process.poll() is None


def test_a_hint_wakes_a_worker_that_would_sleep_for_long_also_after_redis_was_emptied(stage: Stage, redis_server):
    worker_with(stage, redis_server, "redis", poll="600")
    stage.wait_for(lambda: listening(redis_server))
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    with redis_server.client() as client:
        client.flushall()
        stage.wait_for(lambda: client.exists("jobyard:wake:low"))  # the worker has joined anew
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED


def test_redis_refuses_to_start_without_it_and_hybrid_works(stage: Stage, redis_server: RedisServer):
    redis_server.kill()
    refused = worker_with(stage, redis_server, "redis")
    hybrid = worker_with(stage, redis_server, "hybrid", "--until-empty")
    job_id = stage.add("app.short")
    assert refused.exit_code() == 1
    assert "JOBS_DISPATCH is redis, but Redis does not answer" in refused.log.read_text()
    assert "Traceback" not in refused.log.read_text()
    assert stage.wait_for_end(job_id).status == Status.COMPLETED
    assert hybrid.exit_code() == 0
    assert "this worker polls until Redis answers" in hybrid.log.read_text()
