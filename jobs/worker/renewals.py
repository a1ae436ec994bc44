"""Renewals: an expired claim is still its worker's until somebody takes the job, so what it was refused is repeated."""

import logging
import threading
from collections.abc import Callable, Collection, Iterable
from time import monotonic
from typing import TypeVar

from jobs.exceptions import ClaimExpired, WorkerNotFound
from jobs.handlers.base import ClaimRef
from jobs.worker.ledger import NEVER, Ledger
from jobs.worker.persistence import Persistence
from jobs.worker.queue_client import QueueClient

logger = logging.getLogger("jobs.worker")
R = TypeVar("R")
SHARE_OF_INTERVAL = 0.25  # of the time between heartbeats: to renew is to lock all jobs that this worker holds


class Renewals:
    """Shared by all threads that speak of claims: they renew for each other."""

    def __init__(self, client: QueueClient, ledger: Ledger, persist: Persistence) -> None:
        self.client, self.ledger, self.persist = client, ledger, persist
        self._lock, self._renewed_at = threading.Lock(), NEVER

    def while_expired(self, claim: ClaimRef, call: Callable[[], R], patience: Iterable[float]) -> R:
        """Repeat a call while it is refused for an expired claim, and there is patience."""
        for pause in patience:
            try:
                return call()
            except ClaimExpired:
                if not self.help([claim], pause):
                    break
        return call()

    def help(self, claims: Collection[ClaimRef], pause: float) -> bool:
        """Renew expired claims, or wait where that was just done: a beat leaves out rows that somebody has locked.

        False when the next try is the last: they are lost, or the worker must go.
        """
        if not self._is_due():
            return not self.persist.give_up.wait(pause)
        return not self._renewed().isdisjoint(claims)

    def _is_due(self) -> bool:
        with self._lock:
            now = monotonic()
            if now < self._renewed_at + SHARE_OF_INTERVAL * self.client.heartbeat_interval:
                return False
            self._renewed_at = now
            return True

    def _renewed(self) -> set[ClaimRef]:
        """All that are ours, not only those in question: the others are about to expire, too."""
        try:
            return self.persist(self._beat)
        except WorkerNotFound:
            logger.warning("this worker's row is gone")
            return set()

    def _beat(self) -> set[ClaimRef]:
        claims = self.ledger.claims()  # the clerk may be making others meanwhile: only the heartbeat knows its own turn
        return set(claims).difference(self.client.heartbeat(claims, lists_all=False).lost)
