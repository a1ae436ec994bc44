"""Directories that nobody needs any more: of workers that crashed, and of jobs that ended elsewhere."""

import threading
from collections.abc import Callable, Collection
from typing import Any

from jobs.handlers.base import ClaimRef
from jobs.handlers.folders import Folders, work_root
from jobs.process_identity import ProcessIdentity, proven_dead, this_process


class Janitor:
    """Removes directories of attempts and jobs that ended, beside everything else: a large one takes its time."""

    def __init__(self, folders: Folders) -> None:
        self.folders = folders
        self._threads: list[threading.Thread] = []

    def remove_workdirs(self, job_ids: Collection[int]) -> None:
        for job_id in set(self.folders.workdirs()).intersection(job_ids):
            self._remove(self.folders.remove_workdir, job_id)

    def remove_scratch(self, claim: ClaimRef) -> None:
        if self.folders.scratch_of(claim).exists():
            self._remove(self.folders.remove_scratch, claim)

    def close(self) -> None:
        for thread in self._threads:
            thread.join()
        self.folders.remove_owner()

    def _remove(self, remove: Callable[[Any], None], what: object) -> None:
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(threading.Thread(target=remove, args=[what], name="janitor"))
        self._threads[-1].start()


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
        for job_id in set(kept) - needing_workdir(kept):
            folders.remove_workdir(job_id)
