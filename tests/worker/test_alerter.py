"""The worker's alerter: it looks in turn, in a thread of its own, if there is anybody to tell."""

import json
import signal

import pytest

from jobs.handlers.folders import Folders
from jobs.worker.alerter import Alerter
from jobs.worker.chores import chores
from jobs.worker.database_client import DatabaseClient
from jobs.worker.options import WorkerOptions
from jobs.worker.timekeeper import Timekeeper
from tests.factories import age, make_job
from tests.webhooks.receiver import running
from tests.worker.stage import Stage


@pytest.mark.parametrize(
    ("url", "reaps", "there"),
    [("http://127.0.0.1:9/", True, True), ("", True, False), ("http://127.0.0.1:9/", False, False)],
)
def test_there_is_one_only_where_somebody_is_to_be_told(settings, tmp_path, url, reaps, there):
    settings.JOBS_ALERT_WEBHOOK_URL = url
    client = DatabaseClient("w")
    made = chores(client, Folders(tmp_path, "owner"), WorkerOptions(reaps=reaps), Timekeeper(client, lambda: None))
    assert any(isinstance(chore, Alerter) for chore in made) is there


def test_a_look_that_fails_gives_its_connection_back_and_the_next_is_tried():
    class Broken(DatabaseClient):
        hung_up = 0

        def send_alerts_in_turn(self) -> None:
            raise RuntimeError("no")

        def hang_up(self) -> None:
            self.hung_up += 1

    client = Broken("w")
    alerter = Alerter(client)
    assert [alerter.survive(step) for step in alerter.steps()] == [False]
    assert client.hung_up == 1


def test_a_worker_tells_that_nobody_serves_a_queue(stage: Stage):
    make_job(queue="unserved")
    age(65)
    with running() as receiver:
        worker = stage.worker(
            "--queue", "other", reaps=True, JOBS_ALERT_WEBHOOK_URL=receiver.url(), JOBS_REAP_INTERVAL="0.2"
        )
        [heard, *_] = receiver.wait_for()
        worker.send(signal.SIGTERM)
        assert worker.exit_code() == 0
    said = json.loads(heard.body)
    assert (said["alert"], said["key"]) == ("no_claims", "unserved")
    assert len(receiver.heard) == 1, "once, however often it looked"
