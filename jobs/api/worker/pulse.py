"""The pulse of the API: while a web process lives, it says so, whether or not a worker calls.

So a reaper can tell a worker that is dead from one that has nobody to talk to (`jobs.lifecycle.grace`).
"""

import logging
import threading

from django.db import connections

from jobs.conf import conf
from jobs.lifecycle.grace import beat_api

logger = logging.getLogger("jobs.api.worker")


class Pulse:
    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Only an event loop calls it, so two never start at once."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)
            self._thread.start()

    def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        while True:
            try:
                beat_api()
            except Exception as error:  # the database is away, or not migrated: that is told elsewhere
                logger.warning("the API cannot say that it lives error=%r", str(error).strip())
            finally:
                connections.close_all()  # far too seldom to keep one open
            if self._stop.wait(conf.HEARTBEAT_INTERVAL / 2):
                return
