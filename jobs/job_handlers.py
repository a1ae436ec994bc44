"""The kinds that the queue brings itself: Django's tasks, where there is a framework for them."""

from importlib.util import find_spec

from jobs.handlers.registry import Kind, registry

if find_spec("django.tasks") or find_spec("django_tasks"):
    from jobs.tasks.running import run_task
    from jobs.tasks.stored import KIND, KIND_ISOLATED

    registry.add(Kind(KIND, run_task))
    registry.add(Kind(KIND_ISOLATED, run_task, isolation="process"))
