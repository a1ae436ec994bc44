"""Why a worker that asks for jobs is given none, although some may wait."""

from collections.abc import Collection

from jobs.models import Job, Queue, Worker
from jobs.models.ready_heads import ready_heads
from jobs.states import Accelerator

LOOKED_AT, AHEAD = 5, 100  # queues, and jobs of each: an answer for people, not a census


def why_nothing(worker: Worker, queues: Collection[str]) -> str:
    names = list(dict.fromkeys(head.queue for head in ready_heads() if not queues or head.queue in queues))[:LOOKED_AT]
    if not names:
        return "no job is due"
    paused = set(Queue.objects.filter(name__in=names, paused=True).values_list("name", flat=True))
    if paused.issuperset(names):
        return f"queue {min(paused)} is paused"
    if not worker.gpu and any(wants_gpu(name) for name in names if name not in paused):
        return "waiting for a GPU worker"
    return "what waits is not for this worker, or others were first"


def wants_gpu(queue: str) -> bool:
    first = Job.objects.ready(queue).values_list("accelerator", flat=True)[:AHEAD]
    return any(accelerator != Accelerator.NONE for accelerator in first)
