"""Freeze: while the files of an attempt are looked at nobody changes them, and nobody else looks.

To look at a film takes minutes, too long for a lock. So the row says who is at it, and when that one last lived: a
server that was killed meanwhile blocks nobody for long.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

from django.db import connections

from jobs.db import Now, transactional
from jobs.handlers.base import ClaimRef
from jobs.lifecycle.outputs.take import begin
from jobs.models import Output
from jobs.models.output import OutputQuerySet

logger = logging.getLogger("jobs.outputs")
EVERY = 5.0  # seconds between two signs of life: three may fail before SILENT is over


@contextmanager
def frozen(claim: ClaimRef, folder: str) -> Iterator[Output]:
    """Raises BeingChecked where somebody else is at it, and AlreadyFinal after that one was content."""
    output, done = freeze(claim, folder), threading.Event()
    alive = threading.Thread(target=stay_alive, args=(output, done), name="frozen", daemon=True)
    alive.start()
    try:
        yield output
    finally:
        done.set()
        alive.join()
        mine(output).update(check_id=None)


@transactional
def freeze(claim: ClaimRef, folder: str) -> Output:
    output = begin(claim, folder)
    Output.objects.filter(pk=output.pk).update(check_id=uuid4(), check_alive_at=Now())
    output.refresh_from_db()
    return output


def stay_alive(output: Output, done: threading.Event) -> None:
    while not done.wait(EVERY):
        try:
            mine(output).update(check_alive_at=Now())
        except Exception as error:  # the database is away for a moment; the next sign of life may still be in time
            logger.warning("could not say that files are looked at folder=%s error=%r", output.folder, str(error))
        finally:
            connections.close_all()  # this thread's


def mine(output: Output) -> OutputQuerySet:
    return Output.objects.filter(pk=output.pk, check_id=output.check_id)
