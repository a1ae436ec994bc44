"""Directories that nobody needs any more: of workers that crashed, and of jobs that ended elsewhere."""

import logging
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from queue import SimpleQueue

from jobs.handlers.base import ClaimRef
from jobs.handlers.folders import Folders, remove, work_root
from jobs.process_identity import ProcessIdentity, proven_dead, this_process
from jobs.worker.last_waits import MOMENT, LastWaits

logger = logging.getLogger("jobs.worker")


class Janitor(threading.Thread):
    """Removes directories of attempts and jobs that ended, beside everything else: a large one takes its time."""

    def __init__(self, folders: Folders) -> None:
        super().__init__(name="janitor", daemon=True)
        self.folders = folders
        self._doomed: SimpleQueue[Path | None] = SimpleQueue()
        self._trouble = ""

    def remove_workdirs(self, job_ids: Collection[int]) -> None:
        """They are out of the way when this returns: their jobs may run again before they are gone."""
        try:
            for job_id in set(self.folders.workdirs()).intersection(job_ids):
                if doomed := self.folders.set_aside(job_id):
                    self._doomed.put(doomed)
        except OSError as error:  # too many open files, a full disk: whoever looks for leftovers will find them
            if str(error) != self._trouble:
                logger.warning("directories of jobs that ended could not be removed: %s", error)
            self._trouble = str(error)

    def remove_scratch(self, claim: ClaimRef) -> None:
        self._doomed.put(self.folders.scratch_of(claim))

    def close(self, waits: LastWaits) -> None:
        """Remove what is left, of this worker's own, too; what takes too long is left to a later reaper
        (`remove_leftovers`), who finds this process dead."""
        self._doomed.put(None)
        if not waits.wait_for(self, least=MOMENT):
            logger.warning("directories are left for another worker to remove")

    def run(self) -> None:
        while doomed := self._doomed.get():
            try:
                remove(doomed)
            except Exception:  # whatever it is about one of them: the others go
                logger.exception("the directory %s could not be removed", doomed)
        self.folders.remove_owner()


def folders_of_this_process(server: str = "") -> Folders:
    return Folders(work_root(server), owner_name(this_process()))


def owner_name(process: ProcessIdentity) -> str:
    """Names the process for good, so that any other one can tell whether it still lives."""
    return f"{process.boot_id}_{process.pid_namespace}_{process.pid}_{process.start_ticks}"


def process_named(owner: str) -> ProcessIdentity | None:
    parts = owner.split("_")
    if len(parts) != 4 or not all(part.isdecimal() for part in parts[1:]):
        return None
    return ProcessIdentity("", int(parts[2]), parts[0], int(parts[1]), int(parts[3]))


def remove_leftovers(folders: Folders, needing_workdir: Callable[[Collection[int]], set[int]]) -> None:
    here = this_process()
    for owner in folders.owners():
        process = process_named(owner)
        if process and proven_dead(process, here):
            Folders(folders.root, owner).remove_owner()
    kept = folders.workdirs()
    if kept:
        folders.remove_workdirs(set(kept) - needing_workdir(kept))
