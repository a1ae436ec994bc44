"""Claims: jobs for a worker now, or as soon as there are some, or the reason why there are none."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from ninja import Router

from jobs import __version__
from jobs.api.errors import ApiError
from jobs.api.worker import schemas
from jobs.api.worker.access import WorkerAccess, worker_of
from jobs.api.worker.asgi import hold, slot_of
from jobs.api.worker.wire import answer, told_with
from jobs.conf import conf
from jobs.handlers.base import ClaimedJob
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle.claim import claim as claim_jobs
from jobs.lifecycle.heartbeat import beat
from jobs.lifecycle.new_job import check_queue, check_text
from jobs.models import Worker
from jobs.selectors.schedule import next_due_in
from jobs.selectors.waiting_for import why_nothing
from jobs.states import WorkerStatus
from jobs.versions import is_older
from jobs.wire import messages
from jobs.wire.codecs import LOOK, LOOKED
from jobs.wire.names import Code

router = Router(tags=["Remote workers"])
access = WorkerAccess()


@router.post("/claim", summary="Take jobs", **access.options(schemas.Looked, 403))
def claim(request: HttpRequest, sent: schemas.Look) -> Any:
    """With `wait` the answer comes as soon as there is a job, or when the time is over. Repeated with the same id it
    brings what that claim still holds."""
    worker, look = worker_of(request), checked(told_with(request, LOOK, queues=[], limit=1))
    if worker.status == WorkerStatus.DISABLED:
        raise ApiError(403, Code.DISABLED, f"Worker {worker} is disabled; manage.py enable_worker lets it work again.")
    if why := unfit(worker, look):
        return answer(LOOKED.encode(messages.Looked(reason=why)))
    kinds = completable(look)
    if look.kinds and not kinds:
        return answer(LOOKED.encode(messages.Looked(reason=cannot_complete(look))))
    jobs = taken(worker, look, kinds)
    if jobs:
        return answer(LOOKED.encode(messages.Looked(jobs)))
    if hold(request, look.queues, min(look.wait, conf.CLAIM_WAIT)):
        return answer({})  # nobody reads it: the claim is repeated
    nothing = messages.Looked(reason=why_nothing(worker, look.queues), next_due_in=next_due_in())
    return answer({**LOOKED.encode(nothing), "can_wait": slot_of(request) is not None})


def checked(look: messages.Look) -> messages.Look:
    for queue in look.queues:
        check_queue(queue)
    for kind in (*look.kinds, *look.completed_there, *look.isolated_kinds):
        check_text("kind", kind, 100)
    return look


def unfit(worker: Worker, look: messages.Look) -> str:
    """Why this worker is given nothing at all."""
    if worker.drain_requested:
        return "the worker is draining"
    if conf.WORKER_VERSION and is_older(worker.version, conf.WORKER_VERSION):
        return f"version {conf.WORKER_VERSION} or newer is required, and this worker has {worker.version or 'none'}"
    if worker.version not in ("", __version__) and not look.kinds:
        return f"a worker of version {worker.version} must say which kinds it can run, for the server has {__version__}"
    return ""


def completable(look: messages.Look) -> list[str]:
    """Of the kinds that the worker can run, those whose jobs this process can complete, hooks and all; none: all.

    A kind that is unknown here has no hook, unless its worker says so, or it is of a module that cannot be imported.
    """
    if not look.kinds:
        return registry.claimable()
    with_more = set(look.completed_there)
    return [name for name in look.kinds if can_complete(registry.find(name), more=name in with_more)]


def can_complete(kind: Kind | None, *, more: bool) -> bool:
    return kind.has_completion or not more if kind else not (more or registry.broken())


def cannot_complete(look: messages.Look) -> str:
    why = "; ".join(f"{module} ({error})" for module, error in registry.broken().items())
    return f"this server cannot complete jobs of {', '.join(look.kinds[:5])}: " + (
        f"it could not import {why}" if why else "it does not know what their completion takes"
    )


def taken(worker: Worker, look: messages.Look, kinds: Sequence[str]) -> list[ClaimedJob]:
    if worker.status == WorkerStatus.OFFLINE:
        beat(worker.pk)  # who claims lives
    return claim_jobs(
        worker,
        look.queues,
        look.limit,
        look.claim_id,
        isolated_kinds=look.isolated_kinds,
        isolated_limit=look.isolated_limit,
        kinds=kinds,
    )
