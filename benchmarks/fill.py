"""Fills tables with what a busy month leaves behind: plain SQL, because a million enqueues would take an hour."""

from benchmarks.databases import execute, settle

QUEUES = 10

JOBS = """
INSERT INTO jobs_job (
    kind, queue, payload, subject, scope, unique_ever, enqueued_at, status, hold, priority, run_after, accelerator,
    max_attempts, backoff, lease, webhook_url, last_worker_id, last_worker_name, attempt, started_at, progress,
    finished_at, result, last_error
)
SELECT
    'bench.noop', {queue}, jsonb_build_object('video', i, 'path', '/media/library/' || i || '.mkv'),
    '/media/library/' || i || '.mkv', '', false, {begun}, {status}, {hold}, {priority}, {run_after}, '',
    3, '', interval '120 seconds', '', {worker_id}, {worker_name}, {attempt}, {started}, {progress},
    {finished}, {result}, {error}
FROM generate_series(1, {rows}) AS i
"""
WAITING = {
    "status": "'pending'", "worker_id": "NULL", "worker_name": "''", "attempt": "0", "started": "NULL",
    "progress": "0", "finished": "NULL", "result": "NULL", "error": "''",
}  # fmt: skip

# Three events of each finished job, as enqueue, claim and finish write them.
EVENTS = """
INSERT INTO jobs_jobevent (at, name, job_id, queue, worker_id, worker_name, claim_id, attempt, outcome, reason)
SELECT job.finished_at, COALESCE(step.name, job.status), job.id, job.queue, job.last_worker_id, job.last_worker_name,
    gen_random_uuid(), 1, CASE WHEN step.name IS NULL THEN job.status ELSE '' END, ''
FROM jobs_job job CROSS JOIN (VALUES ('enqueued'), ('claimed'), (NULL)) AS step(name)
WHERE job.finished_at IS NOT NULL
"""
CLAIMS = """
INSERT INTO jobs_claim (id, worker_id, made_at)
SELECT gen_random_uuid(), gen_random_uuid(), now() - i * interval '1 second' FROM generate_series(1, {rows}) AS i
"""
TOTALS = """
INSERT INTO jobs_queuetotal (queue, bucket, jobs)
SELECT queue, CASE WHEN hold = 'scheduled' THEN 'scheduled' ELSE status END, count(*) FROM jobs_job GROUP BY 1, 2
ON CONFLICT (queue, bucket) DO UPDATE SET jobs = EXCLUDED.jobs
"""


def finished(rows: int) -> None:
    """Ended jobs of the last thirty days in ten queues (97 % completed), their events, and an hour's claims."""
    execute(
        JOBS.format(
            rows=rows,
            queue=f"'queue' || i % {QUEUES}",
            begun="now() - i * interval '2.5 seconds'",
            status="CASE WHEN i % 100 < 97 THEN 'completed' WHEN i % 100 < 99 THEN 'failed' ELSE 'cancelled' END",
            hold="''",
            priority="i % 3",
            run_after="now() - i * interval '2.5 seconds'",
            worker_id="'00000000-0000-4000-8000-000000000001'::uuid",
            worker_name="'media-1'",
            attempt="1",
            started="now() - i * interval '2.5 seconds'",
            progress="100",
            finished="now() - i * interval '2.5 seconds' + interval '1 second'",
            result="'{\"renditions\": 3}'::jsonb",
            error="CASE WHEN i % 100 IN (97, 98) THEN 'RuntimeError: disk full' ELSE '' END",
        )
    )
    execute(EVENTS)
    execute(CLAIMS.format(rows=rows // 720))


def scheduled_later(rows: int, queue: str) -> None:
    """Jobs due tomorrow and after, of a higher priority than anything that is ready."""
    moment = "now() + interval '1 day' + i * interval '1 second'"
    fields = {"begun": "now()", "hold": "'scheduled'", "priority": "50", "run_after": moment}
    execute(JOBS.format(rows=rows, queue=f"'{queue}'", **fields, **WAITING))


def pending(rows: int, queue: str) -> None:
    moment = "now() - interval '1 hour' + i * interval '1 millisecond'"
    fields = {"begun": moment, "hold": "''", "priority": "i % 3", "run_after": moment}
    execute(JOBS.format(rows=rows, queue=f"'{queue}'", **fields, **WAITING))


def deltas(rows: int) -> None:
    """Counter changes nobody has folded yet; they add up to nothing."""
    execute(
        "INSERT INTO jobs_queuedelta (queue, bucket, jobs) "
        f"SELECT 'queue' || (i / 2) % {QUEUES}, 'completed', CASE i % 2 WHEN 0 THEN 1 ELSE -1 END "
        f"FROM generate_series(0, {rows - 1}) AS i"
    )


def count_right() -> None:
    """Set the counters to what the table holds, then leave it as autovacuum would."""
    execute("TRUNCATE jobs_queuedelta")
    execute(TOTALS)
    settle()
