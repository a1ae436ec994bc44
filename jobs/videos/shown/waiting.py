"""Why a job does not run yet: its place in the line, a queue that is paused, a time that has not come."""

from jobs.models import Job, Queue
from jobs.selectors.clock import database_now
from jobs.states import Hold
from jobs.videos.selectors import is_served
from jobs.videos.shown.texts import clock, ordinal

FAR = 100  # how far a line is read to find a job's place: as many entries of one index


def waiting_text(job: Job) -> str:
    if Queue.objects.filter(name=job.queue, paused=True).exists():
        return f"Waiting: the queue {job.queue} is paused"
    if job.hold == Hold.SCHEDULED:
        seconds = max(0.0, (job.run_after - database_now()).total_seconds())
        begins = f"Attempt {job.attempt + 1} of {job.max_attempts}" if job.attempt else "Begins"
        return f"{begins} in {clock(seconds)}"
    if job.hold == Hold.WAITING:
        return "Waiting for other jobs to end"
    place = place_text(place_in_line(job))
    return place if is_served(job.queue) else f"{place} · no worker serves the queue {job.queue}"


def place_in_line(job: Job) -> int | None:
    """1 is next, FAR + 1 is anywhere behind that; None = not in the line: it has been claimed in this moment."""
    line = list(Job.objects.ready(job.queue).values_list("pk", flat=True)[:FAR])
    if job.pk in line:
        return line.index(job.pk) + 1
    return FAR + 1 if len(line) == FAR else None


def place_text(place: int | None) -> str:
    if place is None:
        return "About to start"
    if place > FAR:
        return f"In line, behind more than {FAR} others"
    return "Next in line" if place == 1 else f"{ordinal(place)} in line"
