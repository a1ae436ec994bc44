"""Rows by the hundred thousand, straight into the tables: what a site has after some months."""

from uuid import UUID

from django.db import connection

FINISHED = 200_000
COLUMNS = "kind, queue, payload, max_attempts, lease, priority, accelerator, backoff, webhook_url, subject"
VALUES = "'test.noop', 'q' || n % 5, '{}', 3, '2 minutes', 0, '', '', '', ''"

# One in twenty failed, one in twenty was cancelled; one in ten is stale; one in ten is unique for ever.
FINISHED_JOBS = f"""
INSERT INTO jobs_job ({COLUMNS}, status, hold, scope, dedupe_key, unique_ever, attempt, finished_at, stale_at,
    run_after)
SELECT {VALUES},
    CASE n % 20 WHEN 0 THEN 'failed' WHEN 1 THEN 'cancelled' ELSE 'completed' END, '',
    CASE n % 4 WHEN 0 THEN 'library' || n % 1000 ELSE '' END,
    CASE WHEN n % 3 = 0 THEN 'key' || n END, n % 10 = 0, 1,
    now() - n * interval '12 seconds', CASE WHEN n > %s * 0.9 THEN now() - interval '1 day' END,
    now() - n * interval '12 seconds'
FROM generate_series(1, %s) n
"""
EVENTS = """
INSERT INTO jobs_jobevent (name, job_id, queue, worker_name, claim_id, attempt, outcome, reason)
SELECT 'completed', id, queue, 'gone', gen_random_uuid(), 1, 'completed', '' FROM jobs_job
"""
PENDING_JOBS = f"""
INSERT INTO jobs_job ({COLUMNS}, status, hold, scope, dedupe_key, unique_ever, run_after)
SELECT {VALUES}, 'pending', %s, '', CASE WHEN n % 3 = 0 THEN %s || 'key' || n END, false, now() + %s
FROM generate_series(1, %s) n
"""
RUNNING_JOBS = f"""
INSERT INTO jobs_job ({COLUMNS}, status, hold, scope, unique_ever, run_after, attempt, started_at,
    claim_id, worker_id, claimed_at, lease_expires_at)
SELECT {VALUES}, 'running', '', '', false, now(), 1, now(), %s, %s, now(), now() + %s
FROM generate_series(1, %s) n
"""

TOTALS = """
INSERT INTO jobs_queuetotal (queue, bucket, jobs)
SELECT queue, CASE WHEN hold = 'scheduled' THEN 'scheduled' ELSE status END, count(*) FROM jobs_job GROUP BY 1, 2
"""


def run(statement: str, *parameters: str | int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement.replace("% ", "%% ") if parameters else statement, parameters or None)


def add_finished() -> None:
    run(FINISHED_JOBS, FINISHED, FINISHED)
    run(EVENTS)


def add_pending(how_many: int, *, due_in: str = "0 seconds") -> None:
    """Ready ones; with `due_in`, scheduled ones that are due then (or were, if it is negative)."""
    hold = "" if due_in == "0 seconds" else "scheduled"
    run(PENDING_JOBS, hold, due_in, due_in, how_many)


def add_running(how_many: int, worker_id: UUID, claim_id: UUID, *, lease: str = "2 minutes") -> None:
    run(RUNNING_JOBS, str(claim_id), str(worker_id), lease, how_many)


def count() -> None:
    """Set the counters to what the table holds."""
    run("DELETE FROM jobs_queuetotal")
    run("DELETE FROM jobs_queuedelta")
    run(TOTALS)


def analyse() -> None:
    run("ANALYZE jobs_job, jobs_jobevent")


def empty() -> None:
    run("TRUNCATE jobs_job, jobs_jobevent, jobs_worker, jobs_phaseprogress, jobs_qualityprogress CASCADE")
