"""What is worked on: jobs that are short, long, that fail, must not run twice, start programs, publish."""

import sys
import time
from typing import Any

from django.db import connection

from jobs import handler
from jobs.handlers.context import Context
from tests.chaos.history import ENDLESS, note

STEP = 0.05


@handler("chaos.quick")
def quick(ctx: Context) -> None:
    note("start", ctx)
    note("end", ctx)


@handler("chaos.long")
def long(ctx: Context, steps: int) -> int:
    """Goes on from its checkpoint; what it does at last cannot be undone, so it asks before."""
    note("start", ctx)
    begin = ctx.last_checkpoint or 0
    for step in range(begin, steps):
        time.sleep(STEP)
        ctx.progress(100 * step / steps)
        if step % 10 == 9:
            ctx.checkpoint(step + 1)
    ctx.guard()
    note("effect", ctx)
    note("end", ctx)
    return steps


@handler("chaos.exclusive", exclusive=True)
def exclusive(ctx: Context, steps: int) -> None:
    note("start", ctx)
    for _ in range(steps):
        time.sleep(STEP)
        note("work", ctx)
    note("end", ctx)


@handler("chaos.flaky")
def flaky(ctx: Context, fails: int) -> None:
    note("start", ctx)
    if ctx.attempt <= fails:
        raise RuntimeError(f"attempt {ctx.attempt} does not work")
    note("end", ctx)


@handler("chaos.program", isolation="process")
def program(ctx: Context, size: int) -> int:
    """Fills its scratch, which may have no room for it, and lets a program read that."""
    note("start", ctx)
    file = ctx.scratch / "data"
    file.write_bytes(b"x" * size)
    found = ctx.run(
        [sys.executable, "-c", "import sys, time; time.sleep(0.3); print(len(open(sys.argv[1]).read()))", file]
    )
    note("end", ctx)
    return int(found.stdout)


@handler("chaos.endless", isolation="process", max_runtime=5)
def endless(ctx: Context) -> None:
    """Lets a program run that would outlive the whole run, if nobody ended it with its attempt."""
    note("start", ctx)
    ctx.run([sys.executable, "-c", ENDLESS])
    note("end", ctx)


def publish(job: Any, result: Any) -> None:
    """In the transaction that completes the job, or not at all."""
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO chaos_published (job_id, claim_id) VALUES (%s, %s)", [job.pk, job.claim_id])


@handler("chaos.publishing", on_complete=publish)
def publishing(ctx: Context) -> None:
    note("start", ctx)
    time.sleep(STEP)
    note("end", ctx)
