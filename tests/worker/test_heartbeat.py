"""The worker's heartbeat: what it brings back from each beat, and that nothing but its end ends it."""

from collections.abc import Callable, Collection, Iterator
from typing import Any

import pytest
from django.conf import LazySettings

from jobs.handlers.base import ClaimRef, Orders
from jobs.handlers.folders import Folders
from jobs.lifecycle import workers
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.reap import reap_once
from jobs.models import Job, Worker
from jobs.selectors.clock import database_now
from jobs.states import WorkerStatus
from jobs.templatetags.jobyard import throughput
from jobs.worker import repeating
from jobs.worker.attempt import Attempt
from jobs.worker.database_client import DatabaseClient
from jobs.worker.heartbeat import Heartbeat
from jobs.worker.ledger import Ledger
from jobs.worker.options import WorkerTally
from jobs.worker.queue_client import QueueUnavailable
from jobs.worker.reaper import Reaper
from tests.concurrency.threads import wait_until
from tests.factories import age


@pytest.fixture
def orders() -> list[Orders]:
    """What the heartbeat brought."""
    return []


@pytest.fixture
def ledger(attempt: Attempt) -> Ledger:
    """That of a worker that runs a job."""
    ledger = Ledger()
    ledger.add([attempt.job], 0.0)
    return ledger


@pytest.fixture
def pulse(client: DatabaseClient, ledger: Ledger, orders: list[Orders]) -> Heartbeat:
    """The test beats it by hand."""
    return Heartbeat(client, ledger, orders.append, WorkerTally(jobs=4, completed=3, failed=1))


def lease_was_renewed(ledger: Ledger, attempt: Attempt) -> bool:
    return ledger.lease_ends_at(attempt.job) > attempt.job.lease.total_seconds()


@pytest.mark.django_db
def test_a_beat_says_that_the_worker_lives_and_renews_its_claims(pulse: Heartbeat, attempt, client, orders, ledger):
    age(attempt.job.lease.total_seconds() + 1)
    assert Job.objects.in_states(["expired"]).exists()
    pulse.beat()
    assert Job.objects.in_states(["claimed"]).exists()
    assert Worker.objects.get(pk=client.worker.pk).status == WorkerStatus.BUSY
    assert lease_was_renewed(ledger, attempt)
    assert orders == [Orders()]


@pytest.mark.django_db
def test_a_beat_says_what_the_worker_did(pulse: Heartbeat, client):
    pulse.beat()
    pulse.tally.count("completed")
    pulse.beat()
    worker = Worker.objects.get(pk=client.worker.pk)
    assert worker.metadata == {"jobs": 5, "completed": 4, "failed": 1, "other": 0}
    assert throughput(worker, database_now()) == "5 done, 1 failed, 5.0 / min"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("order", "brought"),
    [
        (lambda claim, worker: cancel(claim.job_id), lambda claim: Orders(cancel=(claim,))),
        (lambda claim, worker: workers.drain(worker.pk), lambda claim: Orders(drain=True)),
        (lambda claim, worker: workers.disable(worker.pk), lambda claim: Orders(disabled=True)),
    ],
    ids=["cancel", "drain", "disable"],
)
def test_a_beat_brings_orders_and_the_claim_is_renewed_all_the_same(
    pulse: Heartbeat, attempt, client, orders, ledger, order, brought
):
    order(attempt.job.claim, client.worker)
    pulse.beat()
    assert orders == [brought(attempt.job.claim)]
    assert lease_was_renewed(ledger, attempt)


@pytest.mark.django_db
def test_a_lost_claim_is_told_and_its_lease_is_not_renewed(
    pulse: Heartbeat, attempt, client, orders, ledger, settings: LazySettings
):
    settings.JOBS_REAP_GRACE = 0
    age(10_000)
    assert reap_once().requeued == [attempt.job.id]
    pulse.beat()
    assert orders == [Orders(lost=(attempt.job.claim,))]
    assert not lease_was_renewed(ledger, attempt)
    assert Worker.objects.get(pk=client.worker.pk).status == WorkerStatus.IDLE


@pytest.mark.django_db
def test_a_worker_whose_row_is_gone_registers_anew_and_gives_its_jobs_up(
    pulse: Heartbeat, attempt, client, orders, ledger
):
    before = client.worker.pk
    Worker.objects.filter(pk=before).delete()
    pulse.beat()
    assert client.worker.pk != before
    assert list(Worker.objects.values_list("pk", "name")) == [(client.worker.pk, "tester")]
    assert orders == [Orders(lost=(attempt.job.claim,))]
    assert not lease_was_renewed(ledger, attempt)


class Fragile(DatabaseClient):
    """A client that does what a test puts here before a call, once each: it fails, most likely."""

    problems: dict[str, list[Callable[[], None]]]
    beats = 0

    def meet_problem(self, call: str) -> None:
        if self.problems.get(call):
            self.problems[call].pop()()

    def register(self) -> str:
        self.meet_problem("register")
        return super().register()

    def heartbeat(self, claims: Collection[ClaimRef], metadata: Any = None, **more: Any) -> Orders:
        self.meet_problem("heartbeat")
        orders = super().heartbeat(claims, **more)
        self.beats += 1
        return orders

    def reap_in_turn(self) -> None:
        self.meet_problem("reap_in_turn")
        super().reap_in_turn()


def failure(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def failures() -> list[Callable[[], None]]:
    return [failure(QueueUnavailable("cut")), failure(RuntimeError("unforeseen"))]


@pytest.fixture
def beating(client: DatabaseClient, settings: LazySettings, tmp_path, monkeypatch) -> Iterator[Fragile]:
    """The client of a heartbeat and a reaper that run by themselves."""
    settings.JOBS_HEARTBEAT_INTERVAL, settings.JOBS_REAP_INTERVAL = 0.01, 0.01
    monkeypatch.setattr(repeating, "SOON", 0.01)
    client.__class__ = Fragile
    assert isinstance(client, Fragile)
    client.problems = {}
    threads = [
        Heartbeat(client, Ledger(), lambda orders: None, WorkerTally()),
        Reaper(client, Folders(tmp_path, "tester")),
    ]
    for thread in threads:
        thread.start()
    yield client
    for thread in threads:
        thread.stop()
    for thread in threads:
        thread.join()


def wait_for_a_beat(client: Fragile) -> None:
    client.beats = 0
    wait_until(lambda: client.beats > 0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("call", ["heartbeat", "reap_in_turn"])
def test_no_exception_ends_the_heartbeat_or_the_reaper(beating: Fragile, call):
    beating.problems[call] = failures()
    wait_until(lambda: not beating.problems[call])
    wait_for_a_beat(beating)


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_cannot_register_anew_tries_again(beating: Fragile):
    beating.problems["register"] = failures()
    Worker.objects.all().delete()
    wait_until(lambda: Worker.objects.exists())
    assert not beating.problems["register"]
    wait_for_a_beat(beating)


@pytest.mark.django_db(transaction=True)
def test_a_beat_that_failed_is_repeated_soon_and_not_after_the_whole_interval(beating: Fragile, settings: LazySettings):
    def fail_and_beat_seldom_from_now_on() -> None:
        settings.JOBS_HEARTBEAT_INTERVAL = 3600
        beating.beats = 0
        raise QueueUnavailable("cut")

    beating.problems["heartbeat"] = [fail_and_beat_seldom_from_now_on]
    wait_until(lambda: not beating.problems["heartbeat"] and beating.beats == 1)
