"""Waits until transcodes have ended: for the workers there are, or else by being one."""

from collections.abc import Collection
from time import sleep

from django.core.management.base import CommandError
from django.db import close_old_connections

from jobs.management.text import told
from jobs.models import Job, Queue
from jobs.videos.management.bars import bars
from jobs.videos.management.worker_here import work_here
from jobs.videos.selectors import active_jobs, is_served, quality_progress

LOOK_EVERY = 0.5
ASK_FOR_WORKERS_EVERY = 4  # looks


def wait_until_ended(job_ids: Collection[int], *, moving: bool) -> None:
    """Return when none of the jobs waits or runs; `moving` says whether bars are wanted where there is a terminal."""
    while jobs := active(job_ids):
        queues = sorted({job.queue for job in jobs})
        refuse_paused(queues)
        if all(is_served(queue) for queue in queues):
            watch(job_ids, queues, moving=moving)
            continue
        work_here([job.pk for job in jobs], queues, moving=moving)
        if left := active(job_ids):
            raise CommandError(told("The worker was stopped; left to others", [job.pk for job in left]))


def active(job_ids: Collection[int]) -> list[Job]:
    close_old_connections()
    return active_jobs(job_ids)


def refuse_paused(queues: Collection[str]) -> None:
    paused = Queue.objects.filter(name__in=queues, paused=True).values_list("name", flat=True).first()
    if paused:
        raise CommandError(f"The queue {paused} is paused: what was added waits there. manage.py resume_queue {paused}")


def watch(job_ids: Collection[int], queues: Collection[str], *, moving: bool) -> None:
    """Look on until they have ended, or nobody is there any more to end them."""
    with bars(wanted=moving) as shown:
        looks = 0
        while jobs := active(job_ids):
            shown.show(jobs, quality_progress([job.pk for job in jobs]))
            sleep(LOOK_EVERY)
            looks += 1
            if looks % ASK_FOR_WORKERS_EVERY == 0 and not all(is_served(queue) for queue in queues):
                return
