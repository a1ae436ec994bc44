"""Packets between a worker and its database are dropped without a word: no connection is refused, none is closed."""

from collections.abc import Iterator

import pytest
from django.db import connection

from jobs.lifecycle.reap import reap_once
from jobs.states import Status
from tests.concurrency.threads import scalar
from tests.factories import events_of, reload
from tests.manage import database_url
from tests.proxy import Proxy
from tests.worker.checker import check
from tests.worker.stage import Stage, WorkerProcess

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
HANGS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND state = 'idle in transaction'
    AND clock_timestamp() - state_change > interval '0.5 s'
"""
HOLDS = "SELECT lease_expires_at > clock_timestamp() FROM jobs_job WHERE id = %s"


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(int(connection.settings_dict["PORT"])) as proxy:
        yield proxy


def worker_behind(stage: Stage, proxy: Proxy, *flags: str) -> WorkerProcess:
    direct = f":{connection.settings_dict['PORT']}/"
    return stage.worker(*flags, DATABASE_URL=database_url().replace(direct, f":{proxy.port}/"))


def test_exclusive_work_stops_before_its_lease_ends_and_the_rest_goes_on_through_it(
    stage: Stage, proxy: Proxy, settings
):
    settings.JOBS_CLAIM_DURATION = 4
    exclusive, other = stage.add("app.exclusive", max_attempts=1), stage.add("app.long", max_attempts=1)
    worker_behind(stage, proxy, "--processes", "2")
    stage.wait_for_start(exclusive)
    stage.wait_for_start(other)
    proxy.drop()
    stage.wait_for(lambda: stage.history("stopped"))
    assert scalar(HOLDS, exclusive)
    stage.open_gate()
    stage.wait_for(lambda: stage.history("end"))
    assert reload(other).status == Status.RUNNING
    proxy.heal()
    for job_id in (exclusive, other):
        job = stage.wait_for_end(job_id)
        assert (job.status, job.attempt, job.crashes) == (Status.COMPLETED, 1, 0)
    assert events_of(exclusive) == ["enqueued", "claimed", "released", "claimed", "completed"]
    check(stage.history())
    assert "Traceback" not in stage.logs()


def test_what_was_lost_meanwhile_is_given_up_when_packets_get_through_again(stage: Stage, proxy: Proxy):
    job_id = stage.add("app.chatty", max_attempts=2)
    worker_behind(stage, proxy)
    line = stage.wait_for_start(job_id)
    proxy.drop()
    stage.wait_for(lambda: reap_once().requeued == [job_id])
    proxy.heal()
    stage.wait_for(lambda: len(stage.history("start")) == 2)
    assert "claim lost" in stage.logs()
    assert stage.history("start")[1].claim != line.claim
    check(stage.history())


def test_connections_that_a_firewall_forgot_are_given_up_and_work_goes_on(stage: Stage, proxy: Proxy):
    """TCP alone would wait for a quarter of an hour, or for two where nothing is under way."""
    worker = worker_behind(stage, proxy)
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    proxy.forget()
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
    beat = worker.row().last_heartbeat
    stage.wait_for(lambda: worker.row().last_heartbeat != beat)
    assert "Traceback" not in stage.logs()


def test_the_rows_of_a_machine_that_lost_its_power_in_a_transaction_are_free_soon(stage: Stage, proxy: Proxy):
    """Its hook runs in the transaction that completes the job; of its end the server is told by nobody."""
    job_id = stage.add("app.hooked", max_attempts=2)
    worker = worker_behind(stage, proxy)
    stage.wait_for(lambda: scalar(HANGS))
    proxy.forget()
    worker.process.kill()
    worker.exit_code()
    stage.wait_for(lambda: reap_once().requeued == [job_id])
    stage.open_gate()
    stage.run()
    assert (reload(job_id).status, reload(job_id).attempt) == (Status.COMPLETED, 2)
