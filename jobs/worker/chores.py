"""What a worker does beside its jobs, each in a thread of its own: as the settings and its options say."""

from jobs.conf import conf
from jobs.handlers.folders import Folders
from jobs.worker.deliverer import Deliverer
from jobs.worker.queue_client import QueueClient
from jobs.worker.reaper import Reaper
from jobs.worker.repeating import Repeating


def chores(client: QueueClient, folders: Folders, *, reaps: bool) -> list[Repeating]:
    threads: list[Repeating] = []
    if reaps:
        threads.append(Reaper(client, folders))
    if conf.WEBHOOK_CONCURRENCY:
        threads.append(Deliverer(client))
    return threads
