"""A sweep: many rows are dealt with in batches that are as large as the database bears, and none holds up the next.

It goes over the rows once, from the oldest on: those that cannot be dealt with are passed, and left to the next sweep.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Q, QuerySet

from jobs.db import is_postgres, is_transient

logger = logging.getLogger("jobs.prune")

MOST = 50  # the larger a batch, the longer the slowest claims take beside it; longer rests did not help them
SLOW = 1.0  # seconds: a batch that took longer held its locks for too long; the next is smaller
REST = 1.0  # times what a batch took: half of the time, the disk and the cores are for those who claim
GIVE_UP = 3  # single rows one after the other that met a timeout: it is not the rows
NOTE_EVERY = 10.0  # seconds
TIMEOUT_SQLSTATE = "57014"  # statement_timeout, or an operator who cancelled it
# What waits for us waits no longer than this. A limit that is stricter already stays as it is.
LIMITS = """
SELECT set_config(name, most, true)
FROM (VALUES ('lock_timeout', '1s'), ('statement_timeout', '30s')) AS ours(name, most)
WHERE current_setting(name) = '0' OR current_setting(name)::interval > most::interval
"""
Deal = Callable[[Sequence[int]], int]  # with these rows; returns with how many it could
Unstopped = Callable[[], bool]


class Sweep:
    def __init__(self, go_on: Unstopped, note: Callable[[], None] = lambda: None) -> None:
        self.go_on, self.note = go_on, note  # `note` is called now and then: it is still being swept
        self.size = MOST
        self.left = 0
        self._noted_at = monotonic()
        self._error = OperationalError()  # the last timeout

    def run(self, rows: QuerySet[Any], by: str, deal: Deal) -> int:
        """Deal with all rows in the order of the column `by`, which has an index."""
        dealt_with, timeouts = 0, 0
        place: tuple[Any, int] | None = None
        while self.go_on():
            found = list(beyond(rows, by, place).order_by(by, "pk").values_list(by, "pk")[: self.size])
            if not found:
                break
            done = self.try_to(deal, [pk for _, pk in found])
            if done is None and self.shrink(timeouts):
                continue
            timeouts = 0 if done is not None else timeouts + 1
            dealt_with += done or 0
            self.left += len(found) - (done or 0)
            place = found[-1]
        return dealt_with

    def try_to(self, deal: Deal, ids: Sequence[int]) -> int | None:
        """None where the database's patience was over."""
        began = monotonic()
        try:
            with limited_transaction():
                done = deal(ids)
        except OperationalError as error:
            if not is_timeout(error):
                raise
            logger.warning("a batch of %d met a timeout error=%r", len(ids), str(error).strip())
            self._error = error
            return None
        took = monotonic() - began
        self.adapt(took)
        sleep(min(took * REST, SLOW))
        return done

    def adapt(self, seconds: float) -> None:
        if seconds > SLOW:
            self.size = max(1, self.size // 2)
        elif seconds < SLOW / 2:
            self.size = min(MOST, self.size * 2)
        if monotonic() - self._noted_at > NOTE_EVERY:
            self.note()
            self._noted_at = monotonic()

    def shrink(self, timeouts: int) -> bool:
        """Whether fewer may pass where these did not. If not even one did, it is passed by, unless all are so."""
        if self.size > 1:
            self.size //= 2
            return True
        if timeouts + 1 >= GIVE_UP:
            raise self._error
        return False


def beyond(rows: QuerySet[Any], by: str, place: tuple[Any, int] | None) -> QuerySet[Any]:
    """Not from the beginning each time: there the index is full of what was dealt with, until it is vacuumed."""
    if place is None:
        return rows
    value, pk = place
    later = Q(**{f"{by}__gt": value}) | Q(**{by: value, "pk__gt": pk})
    return rows.filter(later, **{f"{by}__gte": value})


@contextmanager
def limited_transaction() -> Iterator[None]:
    """A transaction in which nothing waits for long; inside of the caller's, the caller's limits hold."""
    is_ours = not connection.in_atomic_block
    with transaction.atomic():
        if is_ours and is_postgres():
            with connection.cursor() as cursor:
                cursor.execute(LIMITS)
        yield


def is_timeout(error: OperationalError) -> bool:
    return is_transient(error) or getattr(error.__cause__, "sqlstate", None) == TIMEOUT_SQLSTATE
