"""The worker's deliverer: woken by what ends here and elsewhere, quiet when idle, waited for when the worker stops."""

import signal
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete
from jobs.models import WebhookDelivery
from jobs.states import Status
from jobs.webhooks.bell import bell
from jobs.webhooks.message import Sent
from jobs.worker import deliverer as deliverer_module
from jobs.worker.database_client import DatabaseClient
from jobs.worker.deliverer import POLL, Deliverer
from jobs.worker.last_waits import LastWaits
from jobs.worker.queue_client import QueueUnavailable
from tests.concurrency.threads import scalar
from tests.factories import claimed, events_of, make_job, make_worker, reload
from tests.patience import PATIENCE
from tests.webhooks.conftest import SECRET
from tests.webhooks.receiver import Receiver, running, say
from tests.worker.stage import Stage

LOOPBACK: dict[str, Any] = {"JOBS_WEBHOOK_ALLOW": "127.0.0.0/8"}
LISTENS = "FROM pg_stat_activity WHERE datname = current_database() AND starts_with(query, 'LISTEN')"


@pytest.fixture
def receiver(settings: LazySettings) -> Iterator[Receiver]:
    settings.JOBS_WEBHOOK_ALLOW = "127.0.0.0/8"
    with running() as receiver:
        yield receiver


def status() -> str:
    return WebhookDelivery.objects.get().status


@pytest.mark.django_db(transaction=True)
def test_a_worker_tells_of_what_it_did_before_it_exits(stage: Stage, receiver: Receiver):
    """It exits as soon as nothing is left to do: nobody else would deliver the last message."""
    job_id = stage.add("app.short", webhook_url=receiver.url())
    stage.run(**LOOPBACK, JOBS_WEBHOOK_SECRET=SECRET)
    assert [heard.path for heard in receiver.heard] == ["/hook"]
    assert receiver.heard[0].headers["webhook-signature"].startswith("v1,")
    assert status() == "delivered"
    assert events_of(job_id)[-2:] == ["completed", "webhook_delivered"]


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_goes_on_delivers_at_once_and_waits_for_what_is_under_way(stage: Stage, receiver: Receiver):
    """At once: it looks by itself only once a minute."""
    worker = stage.worker(**LOOPBACK)

    def answer(request: Any) -> None:
        worker.send(signal.SIGTERM)
        stage.wait_for(lambda: "stopping why='SIGTERM'" in worker.log.read_text())
        say(request, 200)

    receiver.answers = [answer]
    stage.wait_for(lambda: "worker online" in worker.log.read_text())
    stage.add("app.short", webhook_url=receiver.url())
    assert worker.exit_code() == 0
    assert status() == "delivered"


@pytest.mark.django_db(transaction=True)
def test_a_receiver_that_never_answers_holds_up_no_job(stage: Stage, receiver: Receiver):
    """A worker with one slot goes on while nobody has answered the webhook of its first job."""
    receiver.answers = [lambda request: receiver.over.wait(PATIENCE)]
    first = stage.add("app.short", webhook_url=receiver.url())
    worker = stage.worker(**LOOPBACK, JOBS_WEBHOOK_TIMEOUT=str(PATIENCE))
    stage.wait_for(lambda: bool(receiver.heard))
    others = [stage.add("app.short") for _ in range(3)]
    stage.wait_for(lambda: all(reload(job_id).status == Status.COMPLETED for job_id in others))
    assert (status(), reload(first).status) == ("pending", Status.COMPLETED), "it waits for its answer all the while"
    receiver.over.set()
    worker.send(signal.SIGTERM)
    assert worker.exit_code() == 0


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_what_ends_elsewhere_wakes_a_worker(stage: Stage, receiver: Receiver):
    stage.worker("--queue", "nothing", **LOOPBACK)
    stage.wait_for(lambda: scalar(f"SELECT count(*) {LISTENS}") == 1)
    stage.wait_for(lambda: "worker online" in stage.logs())
    cancel(stage.add("app.short", webhook_url=receiver.url()))
    receiver.wait_for(1)
    stage.wait_for(lambda: status() == "delivered")


class Here(DatabaseClient):
    """In the test's own thread, whose connection stays."""

    problems = 0

    def hang_up(self) -> None:
        pass

    def record_deliveries(self, sent: Sequence[Sent]) -> None:
        if self.problems:
            self.problems -= 1
            raise QueueUnavailable("cut")
        super().record_deliveries(sent)


@pytest.fixture
def deliverer(db: None) -> Deliverer:
    return Deliverer(Here("tester"))


def ended(receiver: Receiver) -> None:
    complete(claimed(make_worker(), make_job(webhook_url=receiver.url())))


def test_an_idle_deliverer_asks_once_a_minute_and_by_one_statement(deliverer: Deliverer):
    with CaptureQueriesContext(connection) as caught:
        deliverer.deliver_webhooks()
    assert len(caught) == 1
    assert POLL <= deliverer.pause() <= 1.2 * POLL


def test_it_comes_back_when_a_message_is_to_be_tried_again(deliverer: Deliverer, receiver: Receiver):
    ended(receiver)
    receiver.answers = [500]
    deliverer.deliver_webhooks()
    assert 10 < deliverer.pause() <= 18


def test_what_cannot_be_recorded_at_once_is_recorded_soon(
    deliverer: Deliverer, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deliverer_module, "SOON", 0.01)
    ended(receiver)
    assert isinstance(deliverer.client, Here)
    deliverer.client.problems = 2
    deliverer.deliver_webhooks()
    assert (len(receiver.heard), status()) == (1, "delivered")


def test_after_an_outage_that_lasts_it_is_sent_again_when_the_claim_is_over(
    deliverer: Deliverer, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(deliverer_module, "SOON", 0.01)
    ended(receiver)
    assert isinstance(deliverer.client, Here)
    deliverer.client.problems = 3
    deliverer.deliver_webhooks()
    assert status() == "pending"
    WebhookDelivery.objects.update(next_try_at="2020-01-01T00:00:00Z")
    deliverer.deliver_webhooks()
    assert status() == "delivered"
    assert len({heard.headers["webhook-id"] for heard in receiver.heard}) == 1


@pytest.mark.django_db(transaction=True)
def test_it_hears_the_bell_only_while_it_runs_and_only_what_is_committed(receiver: Receiver):
    deliverer = Deliverer(DatabaseClient("tester"))
    deliverer.start()
    try:
        assert bell.is_heard
        ended(receiver)
        receiver.wait_for(1)
    finally:
        deliverer.stop()
        deliverer.await_end(LastWaits(PATIENCE))
    assert not bell.is_heard
    assert status() == "delivered"
