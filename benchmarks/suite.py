"""Every measure, in order, on databases that are filled once."""

from collections.abc import Collection, Iterator
from dataclasses import asdict
from time import monotonic
from typing import Any

import benchmarks.job_handlers  # noqa: F401  registers the kinds
from benchmarks import (
    beside,
    claim,
    costs,
    depth,
    drain,
    enqueue,
    fill,
    job_list,
    on_sqlite,
    round_trips,
    side_by_side,
    worker,
)
from benchmarks.databases import Databases
from benchmarks.findings import Findings
from benchmarks.machine import describe, load
from benchmarks.pgbench import Limit
from benchmarks.report import say, show
from benchmarks.scale import Scale
from tests.postgres import Postgres


def run(server: Postgres, scale: Scale, parts: Collection[str]) -> dict[str, Any]:
    began = monotonic()
    databases, limit = Databases(server.url()), Limit(server)
    try:
        about = describe(databases)
        found = []
        for findings in measures(server, databases, limit, scale, parts):
            show(findings)
            found.append(findings.as_dict())
    finally:
        databases.disconnect_all()
    about["machine"]["load_at_the_end"] = load()
    return {**about, "scale": asdict(scale), "seconds": round(monotonic() - began), "findings": found}


def measures(
    server: Postgres, databases: Databases, limit: Limit, scale: Scale, parts: Collection[str]
) -> Iterator[Findings]:
    if "sides" in parts:
        yield side_by_side.measure(server, limit, scale)
    if "sqlite" in parts:
        yield on_sqlite.measure(scale)
    if "worker" in parts:
        yield from worker_measures(server, databases, limit, scale)
    if "verbs" in parts:
        say("enqueue")
        yield enqueue.measure(databases, limit, scale)
        say("drain")
        yield drain.measure(databases, limit, scale)
    if "rows" in parts:
        yield from measures_beside_rows(server, databases, scale)


def measures_beside_rows(server: Postgres, databases: Databases, scale: Scale) -> Iterator[Findings]:
    say(f"filling: {scale.finished:,} finished, {scale.scheduled:,} scheduled, {scale.waiting:,} pending and others")
    databases.create("empty")
    databases.create("full")
    with databases.using("full"):
        fill.finished(scale.finished)
        fill.scheduled_later(scale.scheduled, queue="bench")
        fill.pending(scale.waiting, queue="bench")
        fill.pending(scale.elsewhere, queue="other")
        fill.count_right()
    say("drain beside all that")
    yield beside.measure(server, databases, scale)
    say("claim")
    yield claim.measure(databases, scale)
    say("round trips")
    yield round_trips.measure(databases, scale)
    say("depth")
    yield depth.measure(databases, scale)
    say("list of jobs")
    yield job_list.measure(databases, scale)


def worker_measures(server: Postgres, databases: Databases, limit: Limit, scale: Scale) -> Iterator[Findings]:
    say("worker: drain")
    yield worker.measure_drain(server, databases, limit, scale)
    say("worker: CPU time")
    yield costs.measure(server, databases, scale)
    say("worker: wake-ups")
    yield worker.measure_waking(server, databases, scale)
    say("worker: idle")
    yield worker.measure_idling(server, databases, scale)
    say(f"worker: memory over {scale.growth:,} jobs")
    yield worker.measure_growth(server, databases, scale)
