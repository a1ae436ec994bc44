"""Hints: whether there is work, and nothing taken. For workers that claim when they have room, and wait beside that."""

from collections.abc import Sequence
from typing import Any

from django.http import HttpRequest
from ninja import Router

from jobs.api.worker import schemas
from jobs.api.worker.access import WorkerAccess
from jobs.api.worker.asgi import hold
from jobs.api.worker.wire import answer
from jobs.conf import conf
from jobs.lifecycle.new_job import check_queue
from jobs.models.ready_heads import ready_heads
from jobs.selectors.schedule import next_due_in
from jobs.wire.names import SOMEWHERE

router = Router(tags=["Remote workers"])
access = WorkerAccess()


@router.post("/listen", summary="Hear that there is work", **access.options(schemas.Heard))
def listen(request: HttpRequest, sent: schemas.Ear) -> Any:
    """Answers as soon as one of the queues has a job that is due, or with none when the time is over."""
    queues = [check_queue(queue) for queue in sent.queues]
    ready = with_work(queues)
    if not ready and hold(request, queues, min(sent.wait, conf.CLAIM_WAIT)):
        return answer({})  # nobody reads it: the call is repeated
    return answer({"queues": ready})


def with_work(queues: Sequence[str]) -> list[str]:
    if next_due_in() == 0:
        return list(queues) or [SOMEWHERE]
    ready = {head.queue for head in ready_heads(paused=False)}
    return sorted(ready.intersection(queues) if queues else ready)
