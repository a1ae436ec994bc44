"""Does something again and again until SIGTERM or SIGINT, through outages of the database."""

import logging
import os
import select
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import Error as DatabaseError
from django.db import close_old_connections

from jobs.management.base import database_trouble
from jobs.stop_signals import signals_caught

logger = logging.getLogger("jobs.management")

SIGNALS = (signal.SIGTERM, signal.SIGINT)
Wait = Callable[[float], bool]


def repeat(step: Callable[[], None], seconds: float) -> None:
    """Call `step`, wait, and so on; returns when a signal comes. The second signal ends the process where it is."""
    outage = Outage()
    with stop_signals() as stopped:
        outage.survive(step)
        while not stopped(seconds):
            outage.survive(step)


@contextmanager
def stop_signals() -> Iterator[Wait]:
    """Gives a wait that returns True as soon as a signal has come.

    A pipe and not a threading.Event: Event.set() in a signal handler would wait for ever for a lock that the very
    thread it interrupted holds.
    """
    reader, writer = os.pipe()

    def note(number: int) -> None:
        os.write(writer, b"!")
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)

    try:
        with signals_caught(note, SIGNALS):
            yield lambda seconds: bool(select.select([reader], [], [], seconds)[0])
    finally:
        os.close(reader)
        os.close(writer)


class Outage:
    """Says once that the database is away, and once that it is back."""

    def __init__(self) -> None:
        self.lasts = False

    def survive(self, step: Callable[[], None]) -> None:
        close_old_connections()
        try:
            step()
        except DatabaseError as error:
            if not self.lasts:
                logger.error("%s Trying on.", database_trouble(error))
            self.lasts = True
            return
        if self.lasts:
            logger.info("The database is back.")
        self.lasts = False
