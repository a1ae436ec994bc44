"""Waits until transcodes have ended: for the workers there are, or else by being one."""

from collections.abc import Collection
from time import sleep

from django.core.management.base import CommandError
from django.db import close_old_connections

from jobs.lifecycle.reap import reap_once
from jobs.management.text import told
from jobs.models import Job, JobEvent, Queue
from jobs.selectors.clock import database_now
from jobs.states import EventName, Hold, Status
from jobs.videos.management.bars import bars
from jobs.videos.management.worker_here import work_here
from jobs.videos.selectors import active_jobs, bars_of, is_served, parts_of

LOOK_EVERY = 0.5
ASK_FOR_WORKERS_EVERY = 4  # looks


def wait_until_ended(job_ids: Collection[int], *, moving: bool) -> None:
    """Return when none of the jobs waits or runs; `moving` says whether bars are wanted where there is a terminal."""
    while jobs := active(job_ids):
        queues = sorted({job.queue for job in jobs})
        refuse_paused(queues)
        if all(is_served(queue) for queue in queues):
            watch(job_ids, queues, moving=moving)
        elif due := due_now(jobs):
            work_on(due, queues, moving=moving)
        else:
            if any(job.status == Status.RUNNING for job in jobs):
                reap_once()  # if its worker is dead, it is due again
            sleep(LOOK_EVERY)


def due_now(jobs: Collection[Job]) -> list[int]:
    """Not what waits for its next attempt, or runs elsewhere: a worker of ours would do others' jobs meanwhile."""
    now = database_now()
    waiting = [job.pk for job in jobs if job.hold == Hold.WAITING]  # for those that encode its parts
    found = [job for job in jobs if job.pk not in waiting] + (parts_of(waiting) if waiting else [])
    return [job.pk for job in found if job.status == Status.PENDING and job.run_after <= now]


def work_on(job_ids: Collection[int], queues: Collection[str], *, moving: bool) -> None:
    """An attempt each, in this process; whoever stops that worker does not want to see another one start."""
    made_all = work_here(job_ids, sorted(queues), moving=moving)
    left = [job.pk for job in active(job_ids)]
    handed_back = [job_id for job_id in left if last_event(job_id) == EventName.RELEASED]
    if left and (handed_back or not made_all):
        raise CommandError(told("The worker was stopped. Left to others", left))


def last_event(job_id: int) -> str | None:
    return JobEvent.objects.filter(job_id=job_id).order_by("-pk").values_list("name", flat=True).first()


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
            shown.show(jobs, bars_of([job.pk for job in jobs]))
            sleep(LOOK_EVERY)
            looks += 1
            if looks % ASK_FOR_WORKERS_EVERY == 0 and not all(is_served(queue) for queue in queues):
                return
