"""The worker's reaper: every worker looks after crashed ones, in a thread of its own so that no heartbeat is late."""

import random
from collections.abc import Callable, Sequence

from jobs.conf import conf
from jobs.handlers.folders import Folders
from jobs.worker.housekeeping import remove_leftovers
from jobs.worker.queue_client import QueueClient
from jobs.worker.repeating import Repeating


class Reaper(Repeating):
    def __init__(self, client: QueueClient, folders: Folders) -> None:
        super().__init__("reaper", client)
        self.folders = folders

    def pause(self) -> float:
        """With jitter, so that workers started together do not reap together."""
        return conf.REAP_INTERVAL * random.uniform(0.8, 1.2)

    def steps(self) -> Sequence[Callable[[], None]]:
        return (self.client.reap_in_turn, self.tidy_folders)

    def tidy_folders(self) -> None:
        remove_leftovers(self.folders, self.client.needing_workdir)
