"""The kinds that the queue brings itself: the end of a batch, and Django's tasks where there is their framework."""

from importlib.util import find_spec

from jobs.handlers.batches import KIND as BATCH
from jobs.handlers.batches import end_batch
from jobs.handlers.registry import Kind, registry

registry.add(Kind(BATCH, end_batch))

if find_spec("django.tasks") or find_spec("django_tasks"):
    from jobs.tasks.running import run_task
    from jobs.tasks.stored import KIND, KIND_ISOLATED

    registry.add(Kind(KIND, run_task))
    registry.add(Kind(KIND_ISOLATED, run_task, isolation="process"))
