"""Hints over Redis, as a worker hears them: one worker for each, the urgent first, through kills, flushes and flaps."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from django.conf import LazySettings

from jobs.dispatch import hints, link
from jobs.worker import redis_listener, repeating
from jobs.worker.database_client import DatabaseClient
from jobs.worker.redis_listener import RedisListener
from jobs.worker.wake_ups import WakeUps
from tests.concurrency.threads import wait_until
from tests.dispatch.fixtures import redis_server
from tests.redis_server import RedisServer

__all__ = ["redis_server"]
pytestmark = pytest.mark.once


def say(*queues: str, level: str = "normal") -> None:
    for queue in queues:
        link.link().call(lambda client, queue=queue: hints.add(client, {(queue, level): 1}))  # type: ignore[misc]


@pytest.fixture
def listeners(redis_server: RedisServer) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def joined(stack: ExitStack, name: str, queues: tuple[str, ...] = (), gpu: bool = False) -> RedisListener:
    return stack.enter_context(RedisListener(queues, gpu, name))


def test_each_hint_wakes_one_worker_of_a_group(listeners):
    one, two = joined(listeners, "one"), joined(listeners, "two")
    say("a", "b")
    assert [one.wait(0.01), two.wait(0.01), one.wait(0.01)] == [["a"], ["b"], []]


def test_workers_with_other_queues_or_a_gpu_hear_it_too(listeners):
    groups = [joined(listeners, "w"), joined(listeners, "x", ("a",)), joined(listeners, "y", gpu=True)]
    say("a")
    assert [listener.wait(0.01) for listener in groups] == [["a"]] * 3


def test_the_urgent_ones_come_first_and_no_more_than_there_is_room_for(listeners):
    listener = joined(listeners, "w")
    say("low", level="low")
    say("normal")
    say("high", "high", level="high")
    assert listener.wait(0.01, 0) == []
    assert listener.wait(0.01, 1) == ["high"]
    assert listener.wait(0.01, 2) == ["high", "normal"]
    assert listener.wait(0.01, 9) == ["low"]


def test_what_was_said_before_it_came_is_not_heard(listeners):
    say("old", "@old")
    assert joined(listeners, "w").wait(0.01) == []


def test_words_reach_all_workers_also_those_without_room(listeners):
    group = [joined(listeners, "one"), joined(listeners, "two")]
    say("@periodic")
    assert [group[0].wait(0.01), group[1].wait(0.01, 0)] == [["@periodic"]] * 2
    assert [group[0].wait(0.01), group[1].wait(0.01, 0)] == [[], []]


def consumers(server: RedisServer) -> set[str]:
    with server.client() as client:
        stream = hints.stream("normal")
        groups = [group["name"] for group in client.xinfo_groups(stream)]
        return {each["name"] for group in groups for each in client.xinfo_consumers(stream, group)}


def test_who_leaves_is_no_consumer_any_more_and_who_was_killed_is_removed(redis_server, monkeypatch):
    with ExitStack() as stack:
        gone, alone = RedisListener((), False, "gone"), RedisListener(("a",), False, "alone")
        for listener in (gone, alone):
            listener.__enter__()
            listener.wait(0.01)
            stack.callback(listener._close)  # as if it was killed: nobody says goodbye
        left = stack.enter_context(RedisListener((), False, "left"))
        left.wait(0.01)
        assert consumers(redis_server) == {"gone", "alone", "left"}
        monkeypatch.setattr(redis_listener, "GONE_AFTER", -1)
        left._tidy_at = 0.0
        left.wait(0.01)
        assert consumers(redis_server) == {"left"}
        with redis_server.client() as client:
            assert [group["name"] for group in client.xinfo_groups(hints.stream("normal"))] == [left.group]
        say("q")
        assert gone.wait(0.01) == ["q"]  # it was only cut off: it is a consumer again
        assert consumers(redis_server) == {"gone", "left"}
    assert consumers(redis_server) == {"gone"}


class Ear:
    def __init__(self, client: DatabaseClient) -> None:
        self.heard = 0
        self.thread = WakeUps(client, self.hear)
        self.thread.room = 1

    def hear(self, *queues: str) -> None:
        self.heard += 1
        self.thread.room = 1


@pytest.fixture
def ear(db: None, redis_server: RedisServer, client: DatabaseClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ear]:
    monkeypatch.setattr(repeating, "SOON", 0.01)
    ear = Ear(client)
    ear.thread.start()
    wait_until(lambda: ear.thread.working and ear.heard == 1)
    yield ear
    ear.thread.stop()
    ear.thread.join(20)


def hears(ear: Ear) -> bool:
    before = ear.heard
    say("q")
    wait_until(lambda: ear.heard > before)
    return True


def test_a_worker_without_room_leaves_hints_to_others_and_hears_them_when_it_has_some(ear):
    ear.thread.room = 0
    with RedisListener((), False, "other") as other:
        before = ear.heard
        say("q")  # the one that it was waiting for as its room went
        wait_until(lambda: ear.heard > before or bool(other.wait(0.01)))
        ear.thread.room = 0
        assert not other.wait(redis_listener.LONGEST_WAIT)  # a wait that had begun with room is over
        before = ear.heard
        for _ in range(3):
            say("q")
            assert other.wait(1) == ["q"]
        assert ear.heard == before
    ear.thread.room = 1
    assert hears(ear)


def test_emptied_it_joins_again_and_looks_for_what_it_missed(ear, redis_server):
    before = ear.heard
    with redis_server.client() as client:
        client.flushall()
    wait_until(lambda: ear.thread.working and ear.heard >= before + 2)  # it polls, then listens again
    assert hears(ear)


def test_killed_it_polls_and_listens_again_once_redis_is_back(ear, redis_server):
    before = ear.heard
    redis_server.kill()
    wait_until(lambda: not ear.thread.working)
    assert ear.heard == before + 1  # told once, so that the worker sleeps for less
    redis_server.start()
    wait_until(lambda: ear.thread.working)
    assert hears(ear)


def test_flapping_it_listens_whenever_it_can(ear, redis_server):
    for _ in range(3):
        redis_server.kill()
        wait_until(lambda: not ear.thread.working)
        redis_server.start()
        wait_until(lambda: ear.thread.working)
    assert hears(ear)


def test_when_it_ends_it_leaves_its_group(ear, redis_server):
    assert hears(ear)
    ear.thread.stop()
    ear.thread.join(20)
    assert consumers(redis_server) == set()


def test_an_address_that_cannot_be_read_stops_nothing(client: DatabaseClient, settings: LazySettings, caplog):
    settings.JOBS_DISPATCH, settings.JOBS_REDIS_URL = "hybrid", "redis://127.0.0.1:s3cret"
    ear = Ear(client)
    ear.thread.start()
    ear.thread.stop()
    ear.thread.join(20)
    assert not ear.thread.working
    assert "s3cret" not in caplog.text
