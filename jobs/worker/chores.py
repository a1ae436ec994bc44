"""What a worker does beside its jobs, each in a thread of its own: as the settings and its options say."""

from jobs.handlers.folders import Folders
from jobs.worker.alerter import Alerter
from jobs.worker.deliverer import Deliverer
from jobs.worker.options import WorkerOptions
from jobs.worker.pruner import Pruner
from jobs.worker.queue_client import QueueClient
from jobs.worker.reaper import Reaper
from jobs.worker.repeating import Repeating
from jobs.worker.timekeeper import Timekeeper


def chores(client: QueueClient, folders: Folders, options: WorkerOptions, timekeeper: Timekeeper) -> list[Repeating]:
    threads: list[Repeating] = []
    if options.is_reaper:
        threads.append(Reaper(client, folders))
    if options.is_timekeeper:
        threads.append(timekeeper)
    if options.is_pruner:
        threads.append(Pruner(client))
    if options.delivers:
        threads.append(Deliverer(client))
    if options.is_reaper and client.wants_alerts():
        threads.append(Alerter(client))
    return threads
