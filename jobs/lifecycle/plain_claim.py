"""How most claims go: on PostgreSQL one statement locks the first jobs of a line, moves them, and tells and counts it.

That is right where there is nothing to weigh: no limit concerns them, none must begin at once, nothing scheduled is
due. If one of them is not so plain, none is taken, and `claim` looks at them one by one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection, models, transaction
from django.db.models import F
from django.db.models.expressions import RawSQL

from jobs.db import Now, with_patience
from jobs.given import Given, GivenList
from jobs.handlers.base import NOTHING, ClaimedJob, ClaimRef
from jobs.lifecycle import events, transition, wake_up
from jobs.lifecycle.line import Line, locking, ready
from jobs.lifecycle.locked_job import EXPRESSIONS
from jobs.lifecycle.sql.built_once import Statement, built_once, update
from jobs.lifecycle.sql.tallying import tallying
from jobs.lifecycle.sql.together import one_string_may_hold_several, run_as_transaction
from jobs.models import Claim, Job, Worker, ready_heads
from jobs.states import LIVE_WORKER, Bucket, EventName, Status, WorkerStatus

HANDED_OVER = (
    "id", "kind", "queue", "payload", "subject", "attempt", "max_attempts", "crashes", "lease", "max_runtime",
    "checkpoint", "priority", "enqueued_at", "trace_context",
)  # fmt: skip
WEIGHED = ("progressed_at", "limited", "others_are_due", "opening")
LOCKED = tuple(EXPRESSIONS.get(name, name) for name in HANDED_OVER + WEIGHED)
MOST_NEEDED = 64
ITS_OWN = "id = ANY(ARRAY(SELECT id FROM ready WHERE EXISTS (SELECT 1 FROM used)))"
LEASE_END = Now() + F("lease")
SAME, ONE_MORE = F("attempt"), F("attempt") + 1
TAKE = """
WITH RECURSIVE {line}, ready({columns}) AS MATERIALIZED (
    {lock}
), used AS (
    INSERT INTO {claim} (id, worker_id) SELECT %s::uuid, %s::uuid
    WHERE EXISTS (SELECT 1 FROM ready) AND NOT EXISTS (
        SELECT 1 FROM ready WHERE limited OR others_are_due OR opening OR progressed_at IS NOT NULL
        OR crashes > 0 OR max_attempts <= attempt + 1 OR kind = ANY(%s)
    )
    ON CONFLICT DO NOTHING RETURNING id
), moved AS (
    {move}
    RETURNING {moved}, kind, DATE_PART('epoch', CLOCK_TIMESTAMP() - run_after) AS age
), told AS (
    {tell}
), {tallying}, busy AS (
    UPDATE {worker} SET status = '{busy}' WHERE id = %s::uuid AND status IN ({not_busy}) AND CASE
        WHEN slots <= (SELECT COUNT(*) FROM moved) THEN TRUE
        ELSE slots <= (SELECT COUNT(*) FROM moved) + (SELECT COUNT(*) FROM {job} WHERE worker_id = %s::uuid)
    END
)
SELECT {handed_over}, (
    SELECT COALESCE(ARRAY_AGG(id), '{{}}') FROM moved HAVING COUNT(*) < (SELECT COUNT(*) FROM ready)
) FROM ready
"""


@dataclass
class Habit:
    """How the claims of a worker went: where the last was plain, the next one is tried by one statement.

    Each time that this was wrong, twice as many plain ones must be seen until it is tried again.
    """

    is_plain: bool = False
    seen: int = 0
    needed: int = 1

    def saw(self, *, plain: bool) -> None:
        """By a closer look."""
        self.seen = self.seen + 1 if plain else 0
        self.is_plain = self.seen >= self.needed

    def was_right(self, *, all_of_it: bool) -> None:
        """It took something. Where that was not all it could, other queues may have more: they are looked at, too."""
        self.is_plain, self.needed = all_of_it, 1

    def was_wrong(self) -> None:
        self.is_plain, self.seen, self.needed = False, 0, min(2 * self.needed, MOST_NEEDED)


def take_plainly(
    worker: Worker, queues: Sequence[str], limit: int, claim_id: UUID, isolated: Iterable[str], kinds: Sequence[str]
) -> list[ClaimedJob]:
    """Take jobs of the first queue that has some, or nothing: then there may be some that are not plain."""
    if not one_string_may_hold_several():
        return []
    line = Line("", worker, kinds)
    statement = taking(bool(queues), *line.shape)
    given = {"queues": list(queues), "isolated": isolated, "limit": limit, "call": claim_id, "worker_name": worker.name}
    bound = statement.bound(**line.given, **given)
    [done] = with_patience(lambda: run_as_transaction([bound]))
    if not done.rows:
        return []
    *_, some = done.rows[0]
    if some is not None:
        wake_up.send_to({row[2] for row in done.rows})  # who looked meanwhile found them locked
    rows = done.rows if some is None else [row for row in done.rows if row[0] in some]
    return list(handed_over(map(statement.converted, rows), claim_id))


def handed_over(rows: Iterable[list[Any]], claim_id: UUID) -> Iterator[ClaimedJob]:
    """What is alike in many is one and the same object, as in `claim.claimed`."""
    shared: dict[Any, Any] = {}
    same = shared.setdefault
    for job_id, kind, queue, payload, subject, attempt, most, crashes, lease, *rest in rows:
        runtime, checkpoint, priority, enqueued_at, trace, _ = rest
        ref, since = ClaimRef(job_id, claim_id), same(enqueued_at, enqueued_at)
        what = same(kind, kind), same(queue, queue), payload, subject, attempt + 1, most, crashes, same(lease, lease)
        yield ClaimedJob(ref, *what, runtime, checkpoint, NOTHING, (), priority, since, trace)


@built_once
def taking(named: bool, gpu: bool, sized: bool, choosy: bool) -> Statement:
    queue = RawSQL("SELECT queue FROM line", (), output_field=models.TextField())
    with transaction.atomic():  # Django puts no lock into words outside of one
        lock = locking(ready(gpu, sized, choosy, queue), LOCKED)
    own = RawSQL(ITS_OWN, (), output_field=models.BooleanField())  # noqa: S611  # nosec B611
    call, worker = (Given(name, models.UUIDField()) for name in ("call", "worker"))
    move = update(
        Job.objects.filter(own, status=Status.PENDING),
        {"status": Status.RUNNING, **marks(call, worker, Given("worker_name"))},
    )
    quote = connection.ops.quote_name
    sql = TAKE.format(
        line=ready_heads.first_line(named=named),
        columns=", ".join(HANDED_OVER + WEIGHED),
        lock=lock.sql,
        claim=quote(Claim._meta.db_table),
        move=move.sql,
        moved=", ".join(events.MOVED),
        tell=events.told_of_moved(f"'{EventName.CLAIMED}'"),
        tallying=tallying(EventName.CLAIMED, Bucket.PENDING, Bucket.RUNNING),
        worker=quote(Worker._meta.db_table),
        job=quote(Job._meta.db_table),
        busy=WorkerStatus.BUSY,
        not_busy=", ".join(f"'{status}'" for status in LIVE_WORKER if status != WorkerStatus.BUSY),
        handed_over=", ".join(HANDED_OVER),
    )
    queues = (GivenList("queues"),) if named else ()
    converters = tuple(each for each in lock.converters if each[0] < len(HANDED_OVER))
    used = (call, worker, GivenList("isolated"))
    return Statement(sql, (*queues, *lock.parameters, *used, *move.parameters, worker, worker), converters)


def marks(claim_id: Any, worker_id: Any, worker_name: Any, *, start: bool = True) -> dict[str, Any]:
    """What a claim leaves on the row of a job."""
    return {
        "claim_id": claim_id,
        "worker_id": worker_id,
        "last_worker_id": worker_id,
        "last_worker_name": worker_name,
        "claimed_at": transition.NOW,
        "lease_expires_at": LEASE_END,
        "started_at": transition.NOW if start else None,
        "attempt": ONE_MORE if start else SAME,
    }
