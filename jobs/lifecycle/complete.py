"""Complete: how most jobs end. On PostgreSQL one statement moves them all: rows, events and counts.

Where there is more to an end (a hook, a webhook, a limit, somebody who waits for it) the job is left as it is, for
`finish` to lock it, decide and write.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from uuid import UUID

from django.db import connection
from django.db.models import Q

from jobs.conf import conf
from jobs.db import is_postgres
from jobs.given import Among, Given, GivenList
from jobs.handlers.base import Answer, ClaimRef, Outcome
from jobs.handlers.registry import registry
from jobs.lifecycle.ending import COMPLETED
from jobs.lifecycle.sql.bound import Bound, Done
from jobs.lifecycle.sql.built_once import Statement, built_once, select, update
from jobs.lifecycle.sql.tallying import tallying
from jobs.lifecycle.sql.together import run_together
from jobs.lifecycle.transition import implied_by, locking
from jobs.lifecycle.workers import refreshing_holders
from jobs.models import Job, JobEvent
from jobs.models.job import is_limited
from jobs.sanitise import clean_json
from jobs.states import Bucket, EventName, Hold, Status, Verdict

MOST_AT_ONCE = 4 * 2**20  # characters of results in one statement
MOVE = """
WITH moved AS (
    {update}
    RETURNING id, queue, kind, attempt, last_worker_id, last_worker_name,
        DATE_PART('epoch', CLOCK_TIMESTAMP() - started_at) AS age
), told AS (
    INSERT INTO {event} (name, job_id, queue, worker_id, worker_name, claim_id, attempt, outcome, reason)
    SELECT '{completed}', id, queue, last_worker_id, last_worker_name, %s::uuid, attempt, '{completed}', '' FROM moved
),{tallying}
SELECT COUNT(*), CASE WHEN COUNT(*) < %s THEN ARRAY_AGG(id) END FROM moved
"""


def complete_alike(outcomes: Sequence[Outcome]) -> dict[ClaimRef, Answer]:
    """Complete those that end as most do, in the caller's transaction; who is not in the answer is left as it was."""
    found = by_call(outcomes) if is_postgres() else {}
    if not found:
        return {}
    calls = dict(sorted(found.items(), key=lambda each: min(each[1])))
    hooked = [kind.name for kind in registry if kind.has_completion]
    moves = [
        moving(any(results.values())).bound(
            ids=results, claims=[call], hooked=hooked, results=results, call=call, number=len(results)
        )
        for call, results in calls.items()
    ]
    before = [] if are_in_order(calls, len(outcomes)) else [lock_in_order(outcomes)]
    done = run_together([*before, *moves, refreshing_holders(calls)])
    return {
        claim: Answer(claim, Status.COMPLETED)
        for (call, results), answer in zip(calls.items(), done[len(before) : -1], strict=True)
        for claim in accepted(call, results, answer)
    }


def are_in_order(calls: "Mapping[UUID, Results]", number: int) -> bool:
    """Whether rows will be locked by their ids, as all verbs do: no call reaches into another, and nobody is left."""
    ranges = sorted((min(results), max(results)) for results in calls.values())
    apart = all(before[1] < after[0] for before, after in pairwise(ranges))
    return apart and sum(map(len, calls.values())) == number


def lock_in_order(outcomes: Iterable[Outcome]) -> Bound:
    claims = [outcome.claim for outcome in outcomes]
    return held_in_order().bound(ids=[job_id for job_id, _ in claims], claims={call for _, call in claims})


@built_once
def held_in_order() -> Statement:
    return select(locking(Job.objects.held_by(GivenList("ids"), GivenList("claims"))).values_list("pk"))


Results = Mapping[int, str | None]  # as JSON, by the ids of their jobs


def by_call(outcomes: Iterable[Outcome]) -> dict[UUID, Results]:
    """The results of jobs that were completed, by the call that claimed them. Of a job only the first word counts."""
    calls: dict[UUID, dict[int, Outcome]] = {}
    for outcome in outcomes:
        job_id, call = outcome.claim
        calls.setdefault(call, {}).setdefault(job_id, outcome)
    found = ((call, results_of(ended)) for call, ended in calls.items())
    return {call: results for call, results in found if results}


def results_of(ended: Mapping[int, Outcome]) -> Results:
    results: dict[int, str | None] = {}
    size = 0
    for job_id, outcome in ended.items():
        if outcome.verdict is Verdict.COMPLETED:
            result = None if outcome.result is None else json.dumps(clean_json(outcome.result, conf.MAX_RESULT))
            size += len(result or "")
            if size > MOST_AT_ONCE:
                break
            results[job_id] = result
    return results


def accepted(call: UUID, results: Results, answer: Done) -> Iterable[ClaimRef]:
    [(number, moved)] = answer.rows
    return (ClaimRef(job_id, call) for job_id in (results if number == len(results) else moved or ()))


@built_once
def moving(with_results: bool) -> Statement:
    """Of one call's jobs those that are still held, and to whose end there is no more."""
    held = Job.objects.held_by(GivenList("ids"), GivenList("claims")).filter(
        ~Q(Among("kind", GivenList("hooked"))),
        ~Q(is_limited()),
        awaited=False,
        webhook_url="",
        started_at__isnull=False,
    )
    changes = {"status": Status.COMPLETED, **COMPLETED.changes(with_results=with_results)}
    moved = update(held, changes | implied_by(Status.COMPLETED, Hold.NONE))
    sql = MOVE.format(
        update=moved.sql,
        event=connection.ops.quote_name(JobEvent._meta.db_table),
        completed=Status.COMPLETED,
        tallying=tallying(EventName.COMPLETED, Bucket.RUNNING, Bucket.COMPLETED),
    )
    return Statement(sql, (*moved.parameters, Given("call"), Given("number")))
