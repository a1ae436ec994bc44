"""How a remote worker comes and goes: registered by an administrator, started and stopped by its processes."""

import hmac
from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema
from pydantic import StrictStr

from jobs import __version__
from jobs.api.access import Refusal
from jobs.api.admission import check_size, length_of, small
from jobs.api.bodies import JSON, check_type
from jobs.api.errors import ApiError
from jobs.api.worker.access import WorkerAccess, worker_of
from jobs.api.worker.authentication import process_of
from jobs.api.worker.budgets import budgets
from jobs.api.worker.schemas import Farewell, NewProcess, Nothing, Started, Uuid
from jobs.api.worker.wire import answer, told_with
from jobs.conf import conf
from jobs.lifecycle.remote_workers import register as register_worker
from jobs.lifecycle.remote_workers import start as start_process
from jobs.lifecycle.remote_workers import stop as stop_process
from jobs.lifecycle.workers import check_facts
from jobs.selectors.clock import database_now
from jobs.web_address import network_of
from jobs.wire import messages
from jobs.wire.codecs import START, STARTED
from jobs.wire.names import ADMIN_SECRET_HEADER


class Registration(Schema, extra="forbid"):
    name: StrictStr = Field(description="What people call it; one name, one worker.")
    expires_in: float | None = Field(
        None, gt=0, le=10 * 365 * 86_400, description="Seconds that the key is valid for; null: until revoked."
    )


class Registered(Schema):
    worker_id: Uuid
    name: str
    key: str = Field(description="Shown only now: what is stored is a hash.")


router = Router(tags=["Remote workers"])
any_process = WorkerAccess(any_process=True)
NO_WORDS = Farewell(metadata=None)


def administrator(request: HttpRequest) -> bool:
    """Shows the secret of JOBS_WORKER_ADMIN_SECRET, if there is one."""
    secret = conf.WORKER_ADMIN_SECRET
    if not secret:
        message = (
            "Workers are not registered over HTTP here: set JOBS_WORKER_ADMIN_SECRET, or use manage.py register_worker."
        )
        raise ApiError(503, "not_configured", message)
    shown = request.headers.get(ADMIN_SECRET_HEADER, "")
    if not shown:
        raise ApiError(
            401, "not_authenticated", f"Send the administrator's secret in the header {ADMIN_SECRET_HEADER}."
        )
    budgets.spend(f"admin {network_of(request.META.get('REMOTE_ADDR', ''))}", conf.WORKER_WRONG_KEYS)
    if not hmac.compare_digest(shown.encode(), secret.encode()):
        raise ApiError(403, "forbidden", "This is not the administrator's secret.")
    check_size(request, small())
    if length_of(request):
        check_type(request, JSON)
    return True


@router.post(
    "/register",
    summary="Make a worker and a key for it",
    auth=administrator,
    response={200: Registered, **dict.fromkeys((400, 401, 403, 411, 413, 415, 422, 429, 503), Refusal)},
    openapi_extra={"security": [{"admin_secret": []}]},
)
def register(request: HttpRequest, new: Registration) -> Any:
    """Called again with the same name, it is the same worker with another key; keys never used are revoked."""
    lifetime = None if new.expires_in is None else timedelta(seconds=new.expires_in)
    worker, _, key = register_worker(new.name, lifetime)
    return {"worker_id": str(worker.pk), "name": worker.name, "key": key}


@router.post("/start", summary="A process begins to work", **any_process.options(Started))
def start(request: HttpRequest, new: NewProcess) -> Any:
    """It takes over from its predecessor where that signed off, is offline, or ran on the same machine. 409 `in_use`:
    another one is at work elsewhere."""
    worker = start_process(worker_of(request).pk, told_with(request, START, hostname="", pid=0))
    began = messages.Started(
        worker_id=worker.pk,
        name=worker.name,
        server_time=database_now().isoformat(),
        server_version=__version__,
        heartbeat_interval=conf.HEARTBEAT_INTERVAL,
        longest_wait=conf.CLAIM_WAIT,
    )
    return answer(STARTED.encode(began))


@router.post("/stop", summary="A process signs off", **any_process.options(Nothing))
def stop(request: HttpRequest, said: Farewell = NO_WORDS) -> Any:
    """It has handed back what it held. Nobody speaks for the worker until another process starts."""
    metadata = None if said.metadata is None else check_facts("metadata", said.metadata)
    stop_process(worker_of(request).pk, process_of(request), metadata)
    return answer({})
