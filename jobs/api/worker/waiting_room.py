"""Where claims wait for work: one thread with one connection looks for all that wait in this process."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field

from django.db import connection

from jobs.api.ear import hear_wake_ups, wait_for
from jobs.conf import conf
from jobs.models.ready_heads import ready_heads
from jobs.selectors.schedule import next_due_in

logger = logging.getLogger("jobs.api.worker")
POLL, POLL_WITH_WAKE_UPS, AFTER_FAILURE = 1.0, 30.0, 1.0  # seconds
SHORTEST_PAUSE = 0.05  # seconds, between two looks
REST = 1.0  # seconds: so often at most a claim looks again, however many jobs come that others take


class Full(Exception):
    """As many claims wait as JOBS_CLAIM_WAITERS allows."""


@dataclass(eq=False)
class Waiter:
    """One claim that waits; `event` belongs to its loop."""

    queues: frozenset[str]  # none: all
    loop: asyncio.AbstractEventLoop
    event: asyncio.Event = field(default_factory=asyncio.Event)
    rests_until: float = 0.0

    def serves(self, ready: Collection[str]) -> bool:
        return bool(ready) and (not self.queues or not self.queues.isdisjoint(ready))

    def wake(self) -> None:
        with suppress(RuntimeError):  # its loop is closed
            self.loop.call_soon_threadsafe(self.event.set)


class WaitingRoom:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiters: set[Waiter] = set()
        self._thread: threading.Thread | None = None
        self._bell: socket.socket | None = None

    def join(self, waiter: Waiter) -> None:
        """From now on it is woken when one of its queues has work, and at once if that came meanwhile."""
        with self._lock:
            if len(self._waiters) >= conf.CLAIM_WAITERS:
                raise Full
            self._waiters.add(waiter)
            if self._thread is None:
                self._bell, other = socket.socketpair()
                self._thread = threading.Thread(target=self._run, args=(other,), name="waiting room", daemon=True)
                self._thread.start()
            self._ring()

    def leave(self, waiter: Waiter) -> None:
        with self._lock:
            self._waiters.discard(waiter)
            self._ring()

    def wake_all(self) -> None:
        """May be called from a signal handler: it takes no lock."""
        for waiter in list(self._waiters):
            waiter.wake()

    @property
    def number(self) -> int:
        with self._lock:
            return len(self._waiters)

    def wait_until_idle(self, seconds: float) -> bool:
        """Whether the thread has ended, as it does when nobody waits."""
        thread = self._thread
        if thread is not None:
            thread.join(seconds)
        return thread is None or not thread.is_alive()

    def _ring(self) -> None:
        if self._bell is not None:
            with suppress(BlockingIOError):
                self._bell.setblocking(False)
                self._bell.send(b".")

    # What follows runs in the thread.

    def _run(self, bell: socket.socket) -> None:
        try:
            while self._somebody_waits():
                try:
                    self._watch(bell)
                except Exception as error:  # the database is away: whoever waits asks again when its time is over
                    logger.warning("claims that wait cannot look for work error=%r", str(error).strip())
                    connection.close()
                    wait_for(bell, AFTER_FAILURE)
        finally:
            connection.close()
            bell.close()

    def _somebody_waits(self) -> bool:
        with self._lock:
            if self._waiters:
                return True
            assert self._bell
            self._bell.close()
            self._thread = self._bell = None
            return False

    def _watch(self, bell: socket.socket) -> None:
        hears = hear_wake_ups()
        while self.number:
            ready = {head.queue for head in ready_heads(paused=False)}
            due = next_due_in()
            if due == 0:
                ready.add("")  # some job is due and nobody has promoted it: whoever claims does
            rested = self._wake(ready)
            longest = POLL_WITH_WAKE_UPS if hears else POLL
            wait_for(bell, min(longest, rested, longest if due is None else due or REST), hears)
            time.sleep(SHORTEST_PAUSE)

    def _wake(self, ready: Collection[str]) -> float:
        """Wake whom it concerns; returns after how many seconds one can be woken that has just looked."""
        now, soonest = time.monotonic(), POLL_WITH_WAKE_UPS
        with self._lock:
            for waiter in self._waiters:
                if not (waiter.serves(ready) or "" in ready):
                    continue
                if waiter.rests_until > now:
                    soonest = min(soonest, waiter.rests_until - now)
                else:
                    waiter.rests_until = now + REST
                    waiter.wake()
        return soonest


room = WaitingRoom()
