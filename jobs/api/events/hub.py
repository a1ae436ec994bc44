"""The hub: one thread with one connection reads what changes, for all readers of this process, while there are any."""

import logging
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.db import DatabaseError, InterfaceError, connection
from psycopg import Error as PsycopgError

from jobs.api.ear import hear_wake_ups, wait_for
from jobs.api.events.fan_out import frames_for, shared_frames
from jobs.api.events.frames import frame
from jobs.api.events.reader import End, Frames, Reader
from jobs.api.events.source import Source
from jobs.api.events.wanted import Wanted
from jobs.conf import conf

logger = logging.getLogger("jobs.api.events")
SHORTEST_PAUSE = 0.2  # seconds: so often at most, however many wake-ups come
AFTER_FAILURE = 1.0
Delivery = tuple[Reader, list[tuple[str, bytes]], int | None]


class Full(Exception):
    """There are as many readers as JOBS_SSE_READERS allows."""


class Hub:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers: set[Reader] = set()
        self._joining: list[Reader] = []
        self._thread: threading.Thread | None = None
        self._bell: socket.socket | None = None  # wakes the thread

    def join(self, reader: Reader) -> None:
        """From now on it is told what changes; the snapshot comes first."""
        with self._lock:
            if len(self._readers) + len(self._joining) >= conf.SSE_READERS:
                raise Full
            self._joining.append(reader)
            if self._thread is None:
                self._bell, other = socket.socketpair()
                self._thread = threading.Thread(target=self._run, args=(other,), name="live hub", daemon=True)
                self._thread.start()
            self._ring()

    def leave(self, reader: Reader) -> None:
        with self._lock:
            self._readers.discard(reader)
            if reader in self._joining:
                self._joining.remove(reader)
            self._ring()

    def is_full(self) -> bool:
        return self.number >= conf.SSE_READERS

    @property
    def number(self) -> int:
        with self._lock:
            return len(self._readers) + len(self._joining)

    def end_all(self, reason: End) -> None:
        """Let every stream come to its end; may be called from anywhere, a signal handler too, so it takes no lock."""
        for reader in [*self._readers, *self._joining]:
            with suppress(RuntimeError):  # its loop is closed
                reader.loop.call_soon_threadsafe(reader.finish, reason)

    def wait_until_idle(self, seconds: float) -> bool:
        """Whether the thread has ended, as it does when nobody reads."""
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
        source: Source | None = None
        failed = False
        try:
            while self._somebody_reads():
                try:
                    source = source or Source()
                    self._listen(bell, source, failed)
                    failed = False
                except Exception as error:
                    failed = True
                    self._survive(error)
                    wait_for(bell, AFTER_FAILURE)
        finally:
            connection.close()
            bell.close()

    def _somebody_reads(self) -> bool:
        with self._lock:
            if self._readers or self._joining:
                return True
            assert self._bell
            self._bell.close()
            self._thread = self._bell = None
            return False

    def _survive(self, error: Exception) -> None:
        """The readers stay; the next round goes on where this one was, with a new connection."""
        if isinstance(error, (DatabaseError, InterfaceError, PsycopgError)):
            logger.warning("the live stream cannot read the database error=%r", str(error).strip())
        else:
            logger.exception("the live stream failed")
        connection.close()
        self._deliver_to_all([("outage", frame("outage", {"message": "The database does not answer."}))])

    def _listen(self, bell: socket.socket, source: Source, failed: bool) -> None:
        """Until nobody reads any more, or something fails."""
        hears = hear_wake_ups()
        while self._somebody_is_there():
            began = time.monotonic()
            self._round(source)
            if failed:
                self._deliver_to_all([("outage", frame("recovered", {}))])
                failed = False
            self._pause(bell, hears, began)

    def _somebody_is_there(self) -> bool:
        with self._lock:
            return bool(self._readers or self._joining)

    def _round(self, source: Source) -> None:
        with self._lock:
            readers = list(self._readers)
        if readers:
            news = source.look({reader.wanted for reader in readers})
            shared = shared_frames(news)
            self._deliver((reader, frames_for(reader.wanted, news, shared), news.position) for reader in readers)
        self._welcome(source)

    def _welcome(self, source: Source) -> None:
        with self._lock:
            joining = self._joining[:]
        made: dict[Wanted, dict[str, Any]] = {}  # after a restart all come at once, and most want the same
        for reader in joining:
            if reader.wanted not in made:
                made[reader.wanted] = source.welcome(reader.wanted)
            document = made[reader.wanted]
            self._deliver([(reader, [("snapshot", frame("snapshot", document))], document["position"])])
            with self._lock:
                if reader in self._joining:  # and has not left meanwhile
                    self._joining.remove(reader)
                    self._readers.add(reader)

    def _pause(self, bell: socket.socket, hears: bool, began: float) -> None:
        """Until it is time to look again, or there is a reason to."""
        interval = max(0.05, conf.SSE_INTERVAL)
        wait_for(bell, max(0.0, interval - (time.monotonic() - began)), hears)
        rest = min(SHORTEST_PAUSE, interval) - (time.monotonic() - began)
        if rest > 0:
            time.sleep(rest)

    def _deliver_to_all(self, frames: Frames) -> None:
        with self._lock:
            readers = list(self._readers)
        self._deliver((reader, list(frames), reader.position) for reader in readers)

    def _deliver(self, deliveries: Iterable[Delivery]) -> None:
        """Once for each loop: calling into one costs more than what is done there."""
        by_loop: defaultdict[Any, list[Delivery]] = defaultdict(list)
        for delivery in deliveries:
            by_loop[delivery[0].loop].append(delivery)
        for loop, given in by_loop.items():
            with suppress(RuntimeError):  # it is closed, and its readers are gone with it
                loop.call_soon_threadsafe(put_all, given)


def put_all(deliveries: list[Delivery]) -> None:
    for reader, frames, position in deliveries:
        reader.put(frames, position)


hub = Hub()
