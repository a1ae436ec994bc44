"""Wake-ups: heard at once, heard again after the connection was cut, and done without where they do not get through."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest
from django.conf import LazySettings

from jobs.lifecycle import wake_up
from jobs.webhooks.bell import bell
from jobs.worker import postgres_listener, repeating
from jobs.worker.database_client import DatabaseClient
from jobs.worker.postgres_listener import PostgresListener
from jobs.worker.queue_client import Listener, NoWakeUps, QueueUnavailable
from jobs.worker.wake_ups import WakeUps
from tests.concurrency.threads import scalar, wait_until
from tests.factories import make_job
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
LISTENS = "FROM pg_stat_activity WHERE datname = current_database() AND starts_with(query, 'LISTEN')"


class Ear:
    """The thread that listens, and what it heard."""

    def __init__(self, client: DatabaseClient) -> None:
        self.heard = 0
        self.queues: tuple[str, ...] = ()
        self.thread = WakeUps(client, self.hear)

    def hear(self, *queues: str) -> None:
        self.heard += 1
        self.queues = queues

    def heard_by(self, what: Callable[[], object]) -> bool:
        """Whether it is woken by this."""
        before = self.heard
        what()
        wait_until(lambda: self.heard > before)
        return True

    def ends(self) -> bool:
        """By itself."""
        self.thread.join(20)
        return not self.thread.is_alive()


@pytest.fixture
def ear(client: DatabaseClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ear]:
    monkeypatch.setattr(repeating, "SOON", 0.01)
    ear = Ear(client)
    yield ear
    ear.thread.stop()
    if ear.thread.ident:
        ear.thread.join()


def start(ear: Ear) -> None:
    """It listens, and has looked for what arrived before."""
    ear.thread.start()
    wait_until(lambda: ear.thread.working and ear.heard == 1)


@pytest.mark.postgres
def test_a_job_that_is_enqueued_wakes_a_worker_that_listens_and_says_in_which_queue(ear: Ear):
    start(ear)
    assert ear.queues == ()
    assert ear.heard_by(make_job)
    assert ear.queues == ("default",)


@pytest.mark.postgres
def test_another_one_that_begins_to_listen_wakes_nobody(ear: Ear):
    """Else each of fifty workers, back after the database was restarted, would send all the others looking."""
    start(ear)
    with PostgresListener(wake_up.CHANNEL):
        make_job()
    wait_until(lambda: ear.queues == ("default",))  # what was said before has been heard, too
    assert ear.heard == 2, "once when it began, and once for the job"


@pytest.mark.postgres
def test_a_connection_that_is_cut_is_replaced_and_what_was_missed_is_looked_for(ear: Ear):
    start(ear)
    assert ear.heard_by(lambda: scalar(f"SELECT count(pg_terminate_backend(pid)) {LISTENS}"))
    wait_until(lambda: ear.thread.working)
    assert ear.heard_by(make_job)
    assert scalar(f"SELECT count(*) {LISTENS}") == 1


@pytest.mark.postgres
def test_what_came_to_be_delivered_while_nobody_listened_is_not_left_lying(ear: Ear):
    rung = threading.Event()
    bell.listen(rung.set)
    try:
        start(ear)
        assert rung.wait(PATIENCE)
    finally:
        bell.listen(None)


@pytest.mark.postgres
def test_when_it_ends_nobody_listens(ear: Ear):
    start(ear)
    ear.thread.stop()
    assert ear.ends()
    wait_until(lambda: scalar(f"SELECT count(*) {LISTENS}") == 0)
    assert not ear.thread.working


class LikeBehindAPooler(PostgresListener):
    """LISTEN succeeded, on a connection that is somebody else's by now."""

    def _prove(self) -> None:
        self._connection.execute("UNLISTEN *")
        super()._prove()


class Pooled(DatabaseClient):
    def listening(self) -> AbstractContextManager[Listener] | None:
        return LikeBehindAPooler(wake_up.CHANNEL)


@pytest.mark.postgres
def test_where_the_proof_is_not_heard_it_gives_up_and_says_so(ear: Ear, client, monkeypatch, caplog):
    monkeypatch.setattr(postgres_listener, "PROOF_WITHIN", 0.1)
    client.__class__ = Pooled
    ear.thread.start()
    assert ear.ends()
    assert not ear.thread.working
    assert "this worker polls instead" in caplog.text
    assert scalar(f"SELECT count(*) {LISTENS}") == 0


@pytest.mark.postgres
def test_a_proof_of_somebody_else_proves_nothing(monkeypatch: pytest.MonkeyPatch):
    class HearsOnlyOthers(LikeBehindAPooler):
        def _prove(self) -> None:
            scalar("SELECT count(pg_notify(%s, 'proof of another worker'))", self.channel)
            super()._prove()

    monkeypatch.setattr(postgres_listener, "PROOF_WITHIN", 0.1)
    with pytest.raises(NoWakeUps), HearsOnlyOthers(wake_up.CHANNEL):
        pytest.fail("it was taken for ours")


@pytest.mark.postgres
def test_without_wake_ups_by_an_operators_word_it_ends_at_once(ear: Ear, settings: LazySettings):
    settings.JOBS_DISPATCH = "polling"
    ear.thread.start()
    assert ear.ends()
    assert (ear.thread.working, ear.heard) == (False, 0)


@pytest.mark.sqlite
def test_on_sqlite_there_are_none_and_it_ends_at_once(ear: Ear):
    ear.thread.start()
    assert ear.ends()
    assert (ear.thread.working, ear.heard) == (False, 0)


class Away(DatabaseClient):
    """A client whose queue cannot be listened to the first few times."""

    failures: list[Exception]

    def listening(self) -> AbstractContextManager[Listener] | None:
        if self.failures:
            raise self.failures.pop()
        return super().listening()


@pytest.mark.postgres
def test_it_tries_again_until_the_queue_is_there(ear: Ear, client):
    client.__class__ = Away
    client.failures = [QueueUnavailable("away"), RuntimeError("unforeseen")]
    start(ear)
    assert client.failures == []
    assert ear.heard_by(make_job)
