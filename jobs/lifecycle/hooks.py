"""Calls the hooks of a kind, each in a savepoint; of those that retention runs, one that fails holds up no other."""

import logging
from collections.abc import Callable, Sequence

from django.db import transaction

from jobs.exceptions import JobyardError
from jobs.handlers.registry import registry
from jobs.lock_waits import allow_silence
from jobs.models import Job

logger = logging.getLogger("jobs.hooks")


class HookCaughtError(JobyardError):
    """A hook caught a database error, so nothing it wrote can be kept; wrap that statement in its own atomic()."""


def run(hook: Callable[..., object], *arguments: object) -> None:
    """Call a hook in a savepoint of its own: what it wrote is kept whole, or it raises."""
    allow_silence()
    with transaction.atomic():
        hook(*arguments)
        if transaction.get_rollback():  # Django would roll back here without a word
            raise HookCaughtError


def passed(jobs: Sequence[Job], hook: str) -> list[Job]:
    """The jobs whose kind has no such hook, or whose hook did not raise; what a failed one wrote is undone."""
    return [job for job in jobs if call(job, hook)]


def has(kind: str, hook: str) -> bool:
    return getattr(registry.find(kind), hook, None) is not None


def call(job: Job, hook: str) -> bool:
    function = getattr(registry.find(job.kind), hook, None)
    if function is None:
        return True
    try:
        run(function, job)
    except Exception:
        logger.exception("%s failed, the job is left as it is job=%s kind=%s", hook, job.pk, job.kind)
        return False
    return True
