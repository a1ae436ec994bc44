"""Workers start periodic jobs: on time, each tick once, and at next to no cost while nothing is due."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.periodic.edit import edit
from jobs.models import Job, PeriodicJob, PeriodicTick
from jobs.states import Status
from jobs.worker.database_client import DatabaseClient
from jobs.worker.options import WorkerOptions
from jobs.worker.queue_client import QueueUnavailable, Ticked
from jobs.worker.timekeeper import Timekeeper
from jobs.worker.wake_ups import WakeUps
from tests.concurrency.threads import TIMEOUT, wait_until
from tests.factories import make_due, make_periodic
from tests.worker.stage import Stage

pytestmark = pytest.mark.django_db(transaction=True)


class Told(DatabaseClient):
    """Answers as the test says, and notes when it was asked."""

    def __init__(self, *answers: Ticked | Exception) -> None:
        super().__init__("told")
        self.answers, self.asked = list(answers), 0
        self.was_asked = threading.Semaphore(0)

    def tick(self, sync: bool = False) -> Ticked:
        self.asked += 1
        self.was_asked.release()
        answer = self.answers.pop(0) if self.answers else Ticked()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def enqueued() -> threading.Event:
    return threading.Event()


@pytest.fixture
def keepers() -> Iterator[list[Timekeeper]]:
    started: list[Timekeeper] = []
    yield started
    for keeper in started:
        keeper.stop()
        keeper.join(TIMEOUT)


def test_it_sleeps_until_the_next_is_due_and_looks_at_once_when_told(keepers, enqueued):
    client = Told(Ticked(1, 0.2), Ticked(0, 3600), Ticked(0, None))
    keeper = Timekeeper(client, enqueued.set)
    keepers.append(keeper)
    keeper.start()
    assert client.was_asked.acquire(timeout=TIMEOUT)
    assert enqueued.wait(TIMEOUT), "the worker looks for the new job without being woken"
    assert client.was_asked.acquire(timeout=TIMEOUT)
    wait_until(lambda: keeper._due_in == 3600)
    assert keeper.pause() == 60, "JOBS_PERIODIC_INTERVAL, for a worker that polls hears of no change"
    keeper.on_word("@something.else")
    keeper.on_word("@periodic")
    assert client.was_asked.acquire(timeout=TIMEOUT)
    assert client.asked == 3


def test_an_outage_is_survived(keepers, enqueued):
    client = Told(QueueUnavailable("away"), Ticked(0, 0.05), Ticked())
    keepers.append(Timekeeper(client, enqueued.set))
    keepers[0].start()
    for _ in range(3):
        assert client.was_asked.acquire(timeout=TIMEOUT)
    assert not enqueued.is_set()


def test_what_another_is_dealing_with_is_not_asked_for_without_pause(enqueued):
    keeper = Timekeeper(Told(Ticked(0, -1.0)), enqueued.set)
    keeper.tick()
    assert keeper.pause() >= 0.05


def test_while_nothing_is_due_a_look_is_one_query(client: DatabaseClient):
    make_periodic()
    client.tick(sync=True)
    with CaptureQueriesContext(connection) as captured:
        assert client.tick().enqueued == 0
    assert len(captured) == 1


def test_a_client_ticks_and_says_when_again(client: DatabaseClient):
    make_due(make_periodic())
    ticked = client.tick()
    assert ticked.enqueued == 1
    assert ticked.next_in
    assert ticked.next_in <= 3600


@pytest.mark.parametrize(
    ("interval", "ticks", "is_timekeeper"), [(60, True, True), (0, True, False), (60, False, False)]
)
def test_workers_can_be_told_not_to(settings, interval, ticks, is_timekeeper):
    settings.JOBS_PERIODIC_INTERVAL = interval
    assert WorkerOptions(ticks=ticks).is_timekeeper == is_timekeeper


@pytest.mark.postgres
def test_an_edit_wakes_those_who_sleep(client: DatabaseClient):
    make_periodic("a"), make_periodic("b")
    words: list[str] = []
    listener = WakeUps(client, lambda *queues: None, ["only.this"], words.append)
    listener.start()
    try:
        wait_until(lambda: listener.working)
        edit("a", schedule="every 1s")
        edit("b", schedule="every 1h")  # as it is
        wait_until(lambda: bool(words))
    finally:
        listener.stop()
        listener.join(TIMEOUT)
    assert words == ["@periodic"]


def delay_of(tick: PeriodicTick) -> timedelta:
    assert tick.job_id
    started = Job.objects.get(pk=tick.job_id).started_at
    assert started
    return started - tick.tick_at


def test_two_workers_run_what_the_code_declares_every_second_each_tick_once(stage: Stage):
    for _ in range(2):
        stage.worker(TEST_APPS="tests.periodic_app", JOBS_POLL_INTERVAL="30")
    done = Job.objects.filter(kind="periodic_app.tick", status=Status.COMPLETED)
    stage.wait_for(lambda: done.count() >= 3)
    row = PeriodicJob.objects.get(name="periodic_app.tick")
    assert (row.schedule, row.declared) == ("every 1s", row.as_declaration().terms())
    leap = PeriodicJob.objects.get(name="leap").next_at
    assert leap
    assert (leap.month, leap.day, leap.hour) == (2, 29, 2), "three in the morning in Berlin"
    ticks = list(PeriodicTick.objects.filter(job_id__in=[job.pk for job in done]).order_by("tick_at"))
    assert len({tick.tick_at for tick in ticks}) == len(ticks) == done.count()
    assert {job.result for job in done} == {"tick"}
    assert min(delay_of(tick) for tick in ticks) < timedelta(seconds=1), stage.logs()
