"""The ledger: which claims this worker holds, and until when at least. Several threads read and write it."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from jobs.handlers.base import ClaimedJob, ClaimRef

# On a clock that starts with the machine, zero may have been a moment ago.
NEVER = float("-inf")


class Ledger:
    def __init__(self) -> None:
        self._renewed_at: dict[ClaimRef, float] = {}
        self._claiming = False
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._renewed_at)

    def claims(self) -> list[ClaimRef]:
        with self._lock:
            return list(self._renewed_at)

    def listed(self) -> tuple[list[ClaimRef], bool]:
        """The claims, and whether these are all: while a claim is being made, the queue may know of more than we do."""
        with self._lock:
            return list(self._renewed_at), not self._claiming

    @contextmanager
    def claiming(self) -> Iterator[None]:
        """From before the call until what it brought is added."""
        self._set_claiming(True)
        try:
            yield
        finally:
            self._set_claiming(False)

    def _set_claiming(self, claiming: bool) -> None:
        with self._lock:
            self._claiming = claiming

    def add(self, jobs: Iterable[ClaimedJob], at: float) -> None:
        """`at` is a moment, on the clock of leases, before the claim was made: the lease cannot have begun earlier."""
        with self._lock:
            self._renewed_at.update({job.claim: at for job in jobs})

    def renewed(self, claims: Iterable[ClaimRef], at: float) -> None:
        """What was dropped meanwhile does not come back."""
        with self._lock:
            self._renewed_at.update({claim: at for claim in claims if claim in self._renewed_at})

    def drop(self, claims: Iterable[ClaimRef]) -> None:
        with self._lock:
            for claim in claims:
                self._renewed_at.pop(claim, None)

    def lease_ends_at(self, job: ClaimedJob) -> float:
        """On the clock of leases: not before this may others take the job."""
        return self.leases_end_at([job])[0]

    def leases_end_at(self, jobs: Iterable[ClaimedJob]) -> list[float]:
        with self._lock:
            return [self._renewed_at.get(job.claim, NEVER) + job.lease.total_seconds() for job in jobs]
