"""Hears hints over Redis: as a consumer of its group, so that one of those that could follow a hint is woken by it."""

from collections.abc import Sequence
from time import monotonic
from types import TracebackType
from typing import Any

from jobs.dispatch import hints
from jobs.dispatch.link import TIMEOUT, RedisAway, link
from jobs.worker.queue_client import WakeUpsAway
from jobs.worker.repeating import PATIENCE

LONGEST_WAIT = 1.0  # seconds
TIDY_EVERY = 600.0
GONE_AFTER = 3_600_000  # milliseconds without a sign of life; who was only cut off joins again
JOINED_ALREADY, UNKNOWN = "BUSYGROUP", ("NOGROUP", "UNBLOCKED", "no such key")
SOON = 0.2  # seconds


class RedisListener:
    patience = PATIENCE
    shared = True  # what one hears, no other does: who has no room for a job must not listen

    def __init__(self, queues: Sequence[str], gpu: bool, consumer: str) -> None:
        self.group, self.consumer = hints.group_of(queues, gpu), consumer
        self.streams = [hints.stream(level) for level in hints.LEVELS]
        self.words = hints.words()
        self.client: Any = None
        self._said_until = "0-0"
        self._tidy_at = 0.0

    def __enter__(self) -> "RedisListener":
        try:
            self.client = link().connect(pool_size=1, patience=LONGEST_WAIT + TIMEOUT)
            self._ask(self._join)
        except RedisAway as away:
            raise WakeUpsAway(str(away), away.retry_in) from None
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._ask(self._leave)
        except WakeUpsAway:
            pass  # others remove us after a while
        finally:
            self._close()

    def wait(self, seconds: float, most: int = 1) -> list[str]:
        """Up to `most` names of queues, the urgent ones first, and all words; nothing if there was nothing in time."""
        return self._ask(lambda client: self._hear(client, min(seconds, LONGEST_WAIT), most))

    def _ask(self, what: Any) -> Any:
        try:
            return link().call(what, self.client)
        except RedisAway as away:
            raise WakeUpsAway(str(away), away.retry_in) from None

    def _join(self, client: Any) -> None:
        """A group hears what is sent from now on: whoever joins looks for work right after."""
        from redis import ResponseError

        for name in self.streams:
            try:
                client.xgroup_create(name, self.group, id="$", mkstream=True)
            except ResponseError as error:
                if not str(error).startswith(JOINED_ALREADY):
                    raise
        self._give_sign_of_life(client)
        last = client.xrevrange(self.words, count=1)
        self._said_until = last[0][0] if last else "0-0"

    def _hear(self, client: Any, seconds: float, most: int) -> list[str]:
        from redis import ResponseError

        try:
            if monotonic() >= self._tidy_at:
                self._tidy(client)
            heard = self._words(client, None)
            for name in self.streams:
                if most > 0:
                    got = self._hints(client, [name], most, None)
                    most -= len(got)
                    heard += got
            if heard:
                return heard
            block = max(1, round(seconds * 1000))
            return self._hints(client, self.streams, 1, block) if most > 0 else self._words(client, block)
        except ResponseError as error:
            if not str(error).startswith(UNKNOWN):
                raise
            # Redis was emptied. What was sent meanwhile is lost: join again and look.
            raise WakeUpsAway("Redis was emptied", SOON) from None

    def _hints(self, client: Any, streams: Sequence[str], most: int, block: int | None) -> list[str]:
        # Not acknowledged: a hint that its reader takes along into death costs no more than the time until a poll.
        new = dict.fromkeys(streams, ">")
        answer = client.xreadgroup(self.group, self.consumer, new, count=most, block=block, noack=True)
        return [fields.get("queue", "") for _, entries in answer or () for _, fields in entries]

    def _words(self, client: Any, block: int | None) -> list[str]:
        answer = client.xread({self.words: self._said_until}, block=block)
        said = [entry for _, entries in answer or () for entry in entries]
        if said:
            self._said_until = said[-1][0]
        return [fields.get("word", "") for _, fields in said]

    def _leave(self, client: Any) -> None:
        for name in self.streams:
            client.xgroup_delconsumer(name, self.group, self.consumer)

    def _give_sign_of_life(self, client: Any) -> None:
        """Who only waits for hints may never be seen (before Redis 7.2); who reads what it has not acknowledged is."""
        client.xreadgroup(self.group, self.consumer, dict.fromkeys(self.streams, "0"), count=1)

    def _tidy(self, client: Any) -> None:
        """Remove consumers of workers that were killed, and groups that nobody is in any more."""
        self._tidy_at = monotonic() + TIDY_EVERY
        self._give_sign_of_life(client)
        for name in self.streams:
            for group in client.xinfo_groups(name):
                others = [each for each in client.xinfo_consumers(name, group["name"]) if each["name"] != self.consumer]
                gone = [each["name"] for each in others if each["idle"] > GONE_AFTER]
                for consumer in gone:
                    client.xgroup_delconsumer(name, group["name"], consumer)
                if group["name"] != self.group and len(gone) == len(others):
                    client.xgroup_destroy(name, group["name"])

    def _close(self) -> None:
        if self.client is not None:
            self.client.connection_pool.disconnect()
