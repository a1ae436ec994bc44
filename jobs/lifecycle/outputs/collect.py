"""Collect: files of attempts that ended before their job was completed. Nobody can make anything of them any more."""

import logging

from django.core.files.storage import Storage

from jobs.handlers.files import job_storage, local_path
from jobs.handlers.folders import remove
from jobs.lifecycle.sweep import Unstopped
from jobs.models import Output

logger = logging.getLogger("jobs.outputs")
MOST = 1000  # of a round: the next prune goes on


def collect_outputs(go_on: Unstopped = lambda: True) -> int:
    """A claim that is gone never comes back, so nobody writes to these folders but whoever has not heard of it yet."""
    storage, collected = job_storage(), 0
    for output in list(Output.objects.abandoned().order_by("pk")[:MOST]):
        if not go_on():
            break
        try:
            remove_files(output, storage)
        except Exception as error:  # each remote storage has errors of its own; the next round tries again
            logger.warning("could not be collected folder=%s error=%r", output.folder, str(error))
            continue
        output.delete()
        collected += 1
        logger.info("collected folder=%s job=%d", output.folder, output.job_id)
    return collected


def remove_files(output: Output, storage: Storage) -> None:
    place = local_path(storage, output.folder)
    if place is not None:
        return remove(place)
    for file in output.arrived():
        storage.delete(f"{output.folder}/{file.path}")
    return None
