"""The queue client of a worker that has a server instead of a database.

What any worker with the database could do for all (reap, prune, alerts, periodic jobs, webhooks) is not for it: the
server's side does that, and here there is nothing to do.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, fields
from functools import partial
from typing import Any, TypeVar

from jobs import __version__, tracing
from jobs.exceptions import ClaimLost
from jobs.handlers.base import Answer, Child, ClaimedJob, ClaimRef, Orders, Outcome, Report, Wish
from jobs.handlers.registry import registry
from jobs.process_identity import this_process
from jobs.versions import is_older
from jobs.webhooks.message import Delivery, Sent
from jobs.wire import codecs
from jobs.wire.messages import Beat, ClaimOrder, Look, Start, Started
from jobs.wire.names import CLAIM_HEADER, OLDEST_SERVER
from jobs.wire.shapes import Codec, WrongShape, at, list_of
from jobs.worker.http_connection import ANSWER, HttpConnection
from jobs.worker.http_errors import NoSuchPlace, NotStarted, TooLarge, WorkerDisabled, not_ours
from jobs.worker.http_listener import HttpListener
from jobs.worker.http_server import Server
from jobs.worker.queue_client import Listener, QueueRefuses, QueueUnavailable, Ticked

logger = logging.getLogger("jobs.worker")
T = TypeVar("T")
LONG_ANSWER = 120.0  # seconds: hooks of kinds run before an outcome is answered
MOST_OUTCOMES = 500  # in one call
LONGEST_WAIT = 20.0  # seconds: proxies cut off what is silent for longer than a minute


class HttpClient:
    def __init__(
        self,
        server: Server,
        queues: Sequence[str] = (),
        *,
        slots: int = 1,
        capabilities: Mapping[str, Any] | None = None,
    ) -> None:
        self.server, self.queues, self.slots, self.capabilities = server, queues, slots, capabilities or {}
        self.connection = HttpConnection(server)
        self._started: Started | None = None
        self._next_due_in: float | None = None
        self._told_version = ""
        self._claimed = 0
        self._spans = tracing.Batches()
        self._signed_off = False

    @property
    def started(self) -> Started:
        assert self._started is not None, "register() comes first"
        return self._started

    @property
    def heartbeat_interval(self) -> float:
        return self.started.heartbeat_interval

    @property
    def answers_several_at_once(self) -> bool:
        return True

    def register(self) -> str:
        start = Start(
            self.server.process,
            **asdict(this_process()),
            version=__version__,
            queues=self.queues,
            slots=self.slots,
            capabilities=self.capabilities,
        )
        try:
            answer = self.connection.call("POST", "start", codecs.START.encode(start))
        except NoSuchPlace as nothing:
            raise not_ours(self.server.url, nothing) from None
        self._started = self._read(codecs.STARTED, answer)
        if is_older(self._started.server_version, OLDEST_SERVER):
            raise QueueRefuses(
                f"The server is too old: it is version {self._started.server_version}, and this worker needs "
                f"{OLDEST_SERVER} or newer. Upgrade the server first, then its workers."
            )
        return self._started.name

    def claim(self, order: ClaimOrder) -> list[ClaimedJob]:
        return self._spans.claiming(partial(self._claim, order))

    def _claim(self, order: ClaimOrder) -> list[ClaimedJob]:
        told = {field.name: getattr(order, field.name) for field in fields(order)}
        del told["is_routine"]  # to the server a look is a look
        look = Look(
            **told,
            kinds=sorted(kind.name for kind in registry),
            completed_there=sorted(kind.name for kind in registry if kind.has_completion),
        )
        try:
            answer = self._call("POST", "claim", codecs.LOOK.encode(look))
        except WorkerDisabled:
            return []  # the next heartbeat says so, too
        looked = self._read(codecs.LOOKED, answer)
        self._next_due_in = looked.next_due_in
        self._claimed += len(looked.jobs)
        return list(looked.jobs)

    def next_due_in(self) -> float | None:
        """As the last look said."""
        return self._next_due_in

    def heartbeat(
        self, claims: Collection[ClaimRef], metadata: Mapping[str, Any] | None = None, *, lists_all: bool = True
    ) -> Orders:
        beat = Beat(tuple(claims), __version__, metadata, lists_all)
        beaten = self._read(codecs.BEATEN, self._call("POST", "heartbeat", codecs.BEAT.encode(beat)))
        if beaten.required_version != self._told_version and is_older(__version__, beaten.required_version):
            self._told_version = beaten.required_version
            logger.error("this worker is too old and gets no jobs: it is version %s, and the server asks for %s",
                         __version__, beaten.required_version)  # fmt: skip
        return beaten.orders

    def report(self, report: Report) -> None:
        self._about(report.claim, "POST", "progress", codecs.REPORT.encode(report))

    def verify(self, claim: ClaimRef) -> None:
        self._about(claim, "GET", "verify")

    def spawn(self, claim: ClaimRef, wish: Wish) -> tuple[Child, ...]:
        message = {"claim_id": str(claim.claim_id), **codecs.WISH.encode(wish)}
        answer = self._about(claim, "POST", "spawn", message)
        return self._read(codecs.CHILDREN, answer, "children")

    def finish(self, outcomes: Sequence[Outcome]) -> list[Answer]:
        return self._spans.finishing([outcome.claim for outcome in outcomes], partial(self._finish, outcomes))

    def _finish(self, outcomes: Sequence[Outcome]) -> list[Answer]:
        """What is too much for one call goes in several; an outcome that is too much by itself is told as a failure."""
        if len(outcomes) > MOST_OUTCOMES:
            return self._finish(outcomes[:MOST_OUTCOMES]) + self._finish(outcomes[MOST_OUTCOMES:])
        message = {"outcomes": codecs.OUTCOMES.encode(outcomes)}
        try:
            answer = self._call("POST", "finish", message, timeout=LONG_ANSWER)
        except TooLarge as error:
            if len(outcomes) == 1:
                return self._finish([outcomes[0].refused(error)])
            half = len(outcomes) // 2
            return self._finish(outcomes[:half]) + self._finish(outcomes[half:])
        answers = self._read(codecs.ANSWERS, answer, "answers")
        return list(answers)

    def needing_workdir(self, job_ids: Collection[int]) -> set[int]:
        answer = self._call("POST", "workdirs", {"jobs": sorted(job_ids)})
        needing = self._read(list_of(codecs.WHOLE), answer, "jobs")
        return set(needing)

    def listening(self) -> AbstractContextManager[Listener] | None:
        return HttpListener(self._hear, lambda: self._claimed) if self.started.longest_wait else None

    def sign_off(self, metadata: Mapping[str, Any] | None = None) -> None:
        self._signed_off = True
        self._call("POST", "stop", {"metadata": dict(metadata or {})})

    def rest(self) -> None:
        """Connections that have gone bad are noticed when they are used."""

    def hang_up(self) -> None:
        """Connections belong to no thread."""

    # What the server's side does

    def reap(self) -> None: ...

    def reap_in_turn(self) -> None: ...

    def wants_alerts(self) -> bool:
        return False

    def send_alerts_in_turn(self) -> None: ...

    def prune_in_turn(self, go_on: Callable[[], bool]) -> None: ...

    def tick(self, sync: bool = False) -> Ticked:
        return Ticked()

    def next_delivery_in(self) -> float | None:
        return None

    def take_deliveries(self, limit: int, room: Callable[[str], int]) -> Sequence[Delivery]:
        return ()

    def record_deliveries(self, sent: Sequence[Sent]) -> None: ...

    # How it is asked

    def _hear(self) -> Collection[str]:
        wait = min(self.started.longest_wait, LONGEST_WAIT)
        answer = self._call("POST", "listen", {"queues": list(self.queues), "wait": wait}, timeout=wait + ANSWER)
        return self._read(list_of(codecs.TEXT), answer, "queues")

    def _about(self, claim: ClaimRef, method: str, verb: str, message: Any = None) -> Any:
        headers = {CLAIM_HEADER: str(claim.claim_id)}
        try:
            return self._call(method, f"{claim.job_id}/{verb}", message, headers=headers, job_id=claim.job_id)
        except NoSuchPlace:  # deleted, or never ours
            raise ClaimLost(job_id=claim.job_id) from None

    def _call(self, method: str, path: str, message: Any = None, **options: Any) -> Any:
        """A server that has forgotten this process is told again who we are."""
        try:
            return self.connection.call(method, path, message, **options)
        except NotStarted as error:
            if self._signed_off:  # a heartbeat that comes late must not start the worker again
                raise QueueUnavailable(str(error)) from None
            self.register()
        try:
            return self.connection.call(method, path, message, **options)
        except NotStarted as error:
            raise QueueUnavailable(str(error)) from None

    def _read(self, codec: Codec[T], answer: Any, part: str = "") -> T:
        """What is not understood was said by a server of another version."""
        try:
            if not part:
                return codec.decode(answer)
            return at(part, codec, answer.get(part) if isinstance(answer, dict) else answer)
        except WrongShape as error:
            raise self._other_version(error) from None

    def _other_version(self, error: WrongShape) -> QueueRefuses:
        version = self._started.server_version if self._started else "unknown"
        return QueueRefuses(
            f"The server (version {version}) does not speak as this worker (version {__version__}) does: {error} "
            "Upgrade the older one of them."
        )
