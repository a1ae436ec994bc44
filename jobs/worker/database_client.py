"""The queue client of a worker that has the database at hand."""

import functools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from time import monotonic
from typing import Any, ParamSpec, TypeVar
from uuid import UUID, uuid4

from django.db import Error, close_old_connections, connection, connections

from jobs import __version__, tracing
from jobs.alerts.sending import channels
from jobs.alerts.watching import look_in_turn
from jobs.conf import conf
from jobs.db import is_passing, is_postgres
from jobs.dispatch import link
from jobs.exceptions import JobLocked
from jobs.handlers.base import Answer, Child, ClaimedJob, ClaimRef, Orders, Outcome, Report, Wish
from jobs.handlers.folders import ends_workdir
from jobs.handlers.registry import registry
from jobs.lifecycle import claim as claiming
from jobs.lifecycle import (
    fence,
    finish,
    prune,
    reap,
    record_deliveries,
    report,
    spawn,
    take_deliveries,
    wake_up,
    workers,
)
from jobs.lifecycle import heartbeat as beating
from jobs.lifecycle.periodic.sync import sync_with_code
from jobs.lifecycle.periodic.tick import tick_once
from jobs.lock_waits import lock_waits_limited
from jobs.models import Worker
from jobs.process_identity import this_process
from jobs.selectors import deliveries, schedule
from jobs.selectors.jobs import outside
from jobs.webhooks.message import Delivery, Sent
from jobs.worker.ledger import NEVER
from jobs.worker.postgres_listener import PostgresListener
from jobs.worker.queue_client import ClaimOrder, JobBusy, Listener, QueueUnavailable, Ticked
from jobs.worker.redis_listener import RedisListener

P = ParamSpec("P")
R = TypeVar("R")
REST_EVERY = 1.0  # seconds: where connections are to be checked, that is a round trip


def reconnecting(call: Callable[P, R]) -> Callable[P, R]:
    """Drop a connection that failed, so that the next call gets a new one, and say so. No call waits for good."""

    @functools.wraps(call)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            with lock_waits_limited():
                return call(*args, **kwargs)
        except JobLocked as error:
            raise JobBusy(str(error)) from error
        except Error as error:
            if not is_passing(error):
                raise
            connection.close()
            raise QueueUnavailable(str(error).strip()) from error

    return wrapped


class DatabaseClient:
    """Connections are per thread, as Django's are."""

    def __init__(
        self,
        name: str,
        queues: Sequence[str] = (),
        *,
        slots: int = 1,
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.name, self.queues, self.slots, self.capabilities = name, queues, slots, capabilities
        self._worker: Worker | None = None
        self._registering: UUID | None = None  # under this id, perhaps without having heard the answer
        self._claiming: UUID | None = None  # with this id, perhaps without having heard the answer
        self._habit = claiming.Habit()
        self._outlook: schedule.Outlook | None = None  # as the last claim found it, if it asked
        self._rested = threading.local()  # as connections are
        self._spans = tracing.Batches()

    @property
    def worker(self) -> Worker:
        assert self._worker is not None, "register() comes first"
        return self._worker

    @property
    def heartbeat_interval(self) -> float:
        return conf.HEARTBEAT_INTERVAL

    @property
    def answers_several_at_once(self) -> bool:
        """SQLite lets one writer in at a time, and the other one sleeps."""
        return is_postgres()

    @reconnecting
    def register(self) -> str:
        self._registering = self._registering or uuid4()
        self._worker = workers.register(
            self.name,
            this_process(),
            queues=self.queues,
            slots=self.slots,
            version=__version__,
            capabilities=self.capabilities,
            worker_id=self._registering,
        )
        self._registering = None
        return self._worker.name

    @reconnecting
    def claim(self, order: ClaimOrder) -> list[ClaimedJob]:
        """An idle worker asks by one statement whether there is anything; what is repeated was asked before."""
        self._outlook = None
        if order.is_routine and order.claim_id != self._claiming:
            self._outlook = schedule.outlook(self.worker.pk)
            if not self._outlook.work_waits:
                return []
        self._claiming = order.claim_id
        claim = partial(
            claiming.claim,
            self.worker,
            order.queues,
            order.limit,
            order.claim_id,
            isolated_kinds=order.isolated_kinds,
            isolated_limit=order.isolated_limit,
            kinds=registry.claimable(),
            habit=self._habit,
        )
        return self._spans.claiming(claim)

    @reconnecting
    def next_due_in(self) -> float | None:
        """If the last claim has asked already, that is the answer."""
        outlook, self._outlook = self._outlook or schedule.outlook(self.worker.pk), None
        return outlook.next_due_in

    @reconnecting
    def heartbeat(
        self, claims: Collection[ClaimRef], metadata: Mapping[str, Any] | None = None, *, lists_all: bool = True
    ) -> Orders:
        return beating.heartbeat(self.worker.pk, claims, metadata=metadata, lists_all=lists_all)

    @reconnecting
    def report(self, report_: Report) -> None:
        report.report(report_)

    @reconnecting
    def verify(self, claim: ClaimRef) -> None:
        fence.verify(claim)

    @reconnecting
    def spawn(self, claim: ClaimRef, wish: Wish) -> tuple[Child, ...]:
        return spawn.spawn(claim, wish.spawn)

    @reconnecting
    def finish(self, outcomes: Sequence[Outcome]) -> list[Answer]:
        return self._spans.finishing((each.claim for each in outcomes), partial(finish.finish, outcomes))

    @reconnecting
    def reap(self) -> None:
        reap.reap_once()

    @reconnecting
    def reap_in_turn(self) -> None:
        reap.reap_in_turn()

    def wants_alerts(self) -> bool:
        return bool(channels())

    @reconnecting
    def send_alerts_in_turn(self) -> None:
        look_in_turn()

    @reconnecting
    def prune_in_turn(self, go_on: Callable[[], bool]) -> None:
        prune.prune_in_turn(go_on)

    @reconnecting
    def tick(self, sync: bool = False) -> Ticked:
        if sync:
            sync_with_code()
        result = tick_once()
        return Ticked(len(result.enqueued), result.next_in)

    @reconnecting
    def needing_workdir(self, job_ids: Collection[int]) -> set[int]:
        return outside(ends_workdir(), job_ids)

    @reconnecting
    def next_delivery_in(self) -> float | None:
        return deliveries.next_delivery_in()

    @reconnecting
    def take_deliveries(self, limit: int, room: Callable[[str], int]) -> Sequence[Delivery]:
        return take_deliveries.take_deliveries(limit, room)

    @reconnecting
    def record_deliveries(self, sent: Sequence[Sent]) -> None:
        record_deliveries.record_deliveries(sent)

    def listening(self) -> AbstractContextManager[Listener] | None:
        if link.is_on():
            return RedisListener(self.queues, self.worker.gpu, f"{self.worker.name} {self.worker.pk}")
        return PostgresListener(wake_up.CHANNEL) if wake_up.by_notify() else None

    @reconnecting
    def sign_off(self, metadata: Mapping[str, Any] | None = None) -> None:
        workers.sign_off(self.worker.pk, metadata)

    def rest(self) -> None:
        now = monotonic()
        if now - getattr(self._rested, "at", NEVER) >= REST_EVERY:
            self._rested.at = now
            close_old_connections()

    def hang_up(self) -> None:
        connections.close_all()
