"""When the faults are over: what waits gets done, everybody works, nobody has kept more than it needs, all leave."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic

from tests.chaos.actors import wait_until, with_mark
from tests.chaos.asking import post
from tests.chaos.exits import wrong_exits
from tests.chaos.history import now, told
from tests.chaos.site import DIRECT, WORKERS, Site

DRAINS_WITHIN = 180.0
TIDY_WITHIN = 60.0
WORKS_WITHIN = 180.0
A_ROUND = 10.0  # seconds
UNFINISHED = "SELECT count(*) FROM jobs_job WHERE status IN ('pending', 'running')"
HAVE_WORKED = """
SELECT DISTINCT worker_name FROM jobs_jobevent WHERE name = 'completed' AND at > to_timestamp(%s)
"""
SESSIONS = """
SELECT application_name, count(*)::int FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() GROUP BY 1
"""
# Of each that still runs: a connection for each thread of its own that speaks with the database, and a few to spare.
MOST_SESSIONS = {**dict.fromkeys(DIRECT, 12), "api": 16, "reaper-1": 2, "reaper-2": 2}


def aftermath(site: Site) -> Iterator[str]:
    yield from drain(site)
    yield from call_roll(site)
    yield from rest(site)
    yield from leave(site)


def drain(site: Site) -> Iterator[str]:
    """Nothing more is wanted, and nothing more breaks: all that waits gets done."""
    site.actors["clients"].end()
    with site.database() as database:

        def unfinished() -> int:
            row = database.execute(UNFINISHED).fetchone()
            assert row
            return int(str(row[0]))

        if not wait_until(lambda: not unfinished(), DRAINS_WITHIN):
            yield f"{unfinished()} jobs are not done {DRAINS_WITHIN:g} s after all was well again"


def call_roll(site: Site) -> Iterator[str]:
    """Each worker, as it runs now, completes a job: there is work for all, again and again, until each has had some."""
    if not wait_until(site.answers, WORKS_WITHIN):
        yield "the API server does not answer"
        return
    since, deadline = now(), monotonic() + WORKS_WITHIN
    with site.database() as database:

        def missing() -> set[str]:
            return set(WORKERS) - {str(name) for (name,) in database.execute(HAVE_WORKED, (since,))}

        while missing() and monotonic() < deadline:
            enqueue_for_all(site)
            wait_until(lambda: not missing(), A_ROUND)
        for name in sorted(missing()):
            yield f"{name} completed nothing within {WORKS_WITHIN:g} s, with nothing broken any more"
    yield from drain(site)


def enqueue_for_all(site: Site) -> None:
    """As many as there are slots, of half a second each."""
    order: dict[str, object] = {"kind": "chaos.long", "payload": {"steps": 10}, "queue": "one"}
    for _ in range(4 * len(WORKERS)):
        told("enqueued", int(post(site.port, site.token, "/api/queue/enqueue", order)["job_id"]))


def rest(site: Site) -> Iterator[str]:
    """With nothing to do, nobody has more sessions of the database than it has use for."""
    with site.database() as database:

        def sessions() -> Mapping[str, int]:
            return dict(database.execute(SESSIONS).fetchall())  # type: ignore[arg-type]  # as the query says

        if not wait_until(lambda: not excess(sessions()), TIDY_WITHIN):
            yield from excess(sessions())


def excess(sessions: Mapping[str, int]) -> list[str]:
    return [
        f"{name or 'somebody'} has {number} sessions of the database, and has use for {MOST_SESSIONS.get(name, 0)}"
        for name, number in sorted(sessions.items())
        if number > MOST_SESSIONS.get(name, 0)
    ]


def leave(site: Site) -> Iterator[str]:
    """All end in order, as did those before them, and nothing of them stays: no file, no process, no session."""
    if not wait_until(lambda: len(left_in(site.scratch)) <= len(WORKERS), TIDY_WITHIN):
        yield f"scratch of workers that are gone: {left_in(site.scratch)}"
    for actor in site.actors.values():
        actor.end()
        yield from wrong_exits(actor.exits)
        yield from actor.remains
    if left := left_in(site.scratch):
        yield f"files were left in the scratch: {left}"
    redis = site.redis.process.pid if site.redis.process else 0
    if not wait_until(lambda: set(with_mark(site.mark)) <= {redis}, TIDY_WITHIN):
        yield f"processes were left: {with_mark(site.mark)}"
    with site.database() as database:
        if not wait_until(lambda: not database.execute(SESSIONS).fetchall(), TIDY_WITHIN):
            yield f"sessions were left in the database: {database.execute(SESSIONS).fetchall()}"


def left_in(scratch: Path) -> list[str]:
    return [str(path.relative_to(scratch)) for kind in ("scratch", "work") for path in (scratch / kind).glob("*")]
