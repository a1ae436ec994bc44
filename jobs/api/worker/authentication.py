"""Who is calling: a machine with the key of a worker, and which process of it."""

from typing import Any
from uuid import UUID

from django.http import HttpRequest

from jobs.api.errors import ApiError
from jobs.api.worker.budgets import budgets
from jobs.conf import conf
from jobs.exceptions import InvalidInput
from jobs.lifecycle.remote_workers import WorkerReplaced
from jobs.lifecycle.worker_keys import note_use
from jobs.models import Worker, WorkerKey
from jobs.web_address import network_of
from jobs.wire.names import KEY_HEADER, PROCESS_HEADER, Code

CHALLENGE = {"WWW-Authenticate": 'Bearer realm="Jobyard workers"'}


def authenticate(request: HttpRequest) -> Worker:
    """The worker whose key is shown. How many calls it, and all behind its address, may make is counted here."""
    address = network_of(request.META.get("REMOTE_ADDR", ""))
    budgets.spend(f"address {address}", conf.WORKER_CALLS_PER_ADDRESS)
    key: Any = shown_key(request, address)
    budgets.spend(f"key {key.pk}", conf.WORKER_CALLS_PER_KEY)
    if key.problem:
        raise refused(
            Code(f"key_{key.problem}"), f"This key is {key.problem}; manage.py rotate_worker_key makes another."
        )
    if not key.noted:
        note_use(key)
    worker: Worker = key.worker
    return worker


def shown_key(request: HttpRequest, address: str) -> WorkerKey:
    """How many wrong ones an address may show is counted. A right one is right, whoever else is behind its address."""
    text = text_of(request)
    key = WorkerKey.objects.select_related("worker").shown(text) if text else None
    if key is None:
        budgets.spend(f"wrong keys {address}", conf.WORKER_WRONG_KEYS)
        raise refused(
            Code.BAD_KEY, f"Send the worker's key in the header {KEY_HEADER}; manage.py register_worker makes one."
        )
    return key


def text_of(request: HttpRequest) -> str:
    if text := request.headers.get(KEY_HEADER):
        return text.strip()
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def refused(code: Code, message: str) -> ApiError:
    return ApiError(401, code, message, CHALLENGE)


def check_process(request: HttpRequest, worker: Worker) -> None:
    """Only the process that started last speaks for a worker. Who never started anything needs to name none."""
    told = process_of(request)
    if told == worker.process_uuid:
        return
    if worker.process_uuid is None:
        raise ApiError(409, Code.NOT_STARTED, f"No process has started for worker {worker}: call start first.")
    raise WorkerReplaced(name=worker.name, hostname=worker.hostname)


def process_of(request: HttpRequest) -> UUID | None:
    text = request.headers.get(PROCESS_HEADER, "")
    try:
        return UUID(text) if text else None
    except ValueError:
        raise InvalidInput(f"The header {PROCESS_HEADER} must be a UUID.") from None
