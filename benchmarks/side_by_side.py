"""Jobyard beside other queues: the same measures in the same minutes on the same server, in turns."""

from benchmarks.competitor import Competitor, installed
from benchmarks.findings import Figure, Findings
from benchmarks.measure import Spread
from benchmarks.numbers import percentile
from benchmarks.pgbench import Limit
from benchmarks.report import say
from benchmarks.scale import Scale
from tests.postgres import Postgres

Samples = dict[str, dict[str, list[float]]]  # by queue and measure, one value for each round
OURS, FASTEST, DJANGOS, PGBENCH = "jobyard", "pgqueuer", "django_tasks_db", "pgbench"
# What is compared with whom, and the bar: at least so many times as many, or at most so many times as long.
BARS: tuple[tuple[str, str, dict[str, float]], ...] = (
    ("drain, 1 worker", FASTEST, {"at_least": 1.0}),
    ("drain, 1 worker", DJANGOS, {"at_least": 10.0}),
    ("drain, 2 workers", FASTEST, {"at_least": 1.0}),
    ("enqueue", FASTEST, {"at_least": 1.0}),
    ("enqueue_many", FASTEST, {"at_least": 2.0}),
    ("wake-up p50", FASTEST, {"at_most": 1.0}),
    ("wake-up p99", FASTEST, {"at_most": 1.0}),
    ("enqueue", PGBENCH, {}),
    ("enqueue_many", PGBENCH, {}),
    ("drain, 1 worker", PGBENCH, {}),
    ("WAL per job", FASTEST, {}),
    ("commits per job", FASTEST, {}),
)
UNITS = {"enqueue": "/s", "enqueue_many": "/s", "drain, 1 worker": "/s", "drain, 2 workers": "/s", "WAL per job": "B"}
UNITS |= {
    "wake-up p50": "ms",
    "wake-up p99": "ms",
    "CPU of the worker": "µs",
    "CPU of PostgreSQL": "µs",
    "commits per job": "",
}


def measure(server: Postgres, limit: Limit, scale: Scale) -> Findings:
    """One measure after the other, each side in turn: what is compared is seconds apart, for a machine changes pace."""
    competitors = installed(server)
    samples: Samples = {name: {} for name in (*(each.name for each in competitors), PGBENCH)}
    try:
        for number in range(scale.side_rounds):
            for name, value in limits(limit).items():
                samples[PGBENCH].setdefault(name, []).append(value)
            turn = number % len(competitors)
            for measured in MEASURES:
                say(f"side by side, round {number + 1} of {scale.side_rounds}: {measured.__name__}")
                for each in competitors[turn:] + competitors[:turn]:
                    for name, value in measured(each, scale).items():
                        samples[each.name].setdefault(name, []).append(value)
    finally:
        for each in competitors:
            each.close()
    return findings(samples, {each.name: each.facts["how"] for each in competitors})


def limits(limit: Limit) -> dict[str, float]:
    """What PostgreSQL alone can do of it, with one client."""
    return {
        "enqueue": 1 / limit.seconds_per_job("insert_one", runs=1000),
        "enqueue_many": 1 / limit.seconds_per_job("insert_1000", runs=50, jobs_per_run=1000),
        "drain, 1 worker": 1 / limit.seconds_per_job("claim_finish_100", runs=200, jobs_per_run=100, preload=True),
    }


def enqueue(side: Competitor, scale: Scale) -> dict[str, float]:
    return {"enqueue": side.enqueue_one(scale.side_seconds)["per_second"]}


def enqueue_many(side: Competitor, scale: Scale) -> dict[str, float]:
    many = side.enqueue_many(scale.side_seconds)
    return {"enqueue_many": many["per_second"]} if many else {}


def drain(side: Competitor, scale: Scale) -> dict[str, float]:
    alone = side.drain(1, scale.side_share)
    return {
        "drain, 1 worker": alone["per_second"],
        "CPU of the worker": alone["worker_cpu"] * 1e6,
        "CPU of PostgreSQL": alone["server_cpu"] * 1e6,
        "WAL per job": alone["wal"],
        "commits per job": alone["commits"],
    }


def drain_by_two(side: Competitor, scale: Scale) -> dict[str, float]:
    return {"drain, 2 workers": side.drain(2, scale.side_share)["per_second"]}


def wake_up(side: Competitor, scale: Scale) -> dict[str, float]:
    woken = side.wake(scale.side_wake_ups)
    return {f"wake-up p{percent}": percentile(woken, percent) * 1e3 for percent in (50, 99)}


MEASURES = (enqueue, enqueue_many, drain, drain_by_two, wake_up)


def findings(samples: Samples, how: dict[str, str]) -> Findings:
    found = Findings("Side by side")
    for name, unit in UNITS.items():
        for side, measured in samples.items():
            if name in measured:
                found.figures.append(Figure(f"{name}, {side}", Spread.of(measured[name]), unit))
    for name, other, bar in BARS:
        if ratios := ratios_of(samples[OURS].get(name, []), samples.get(other, {}).get(name, [])):
            found.figures.append(Figure(f"{name}: {OURS} : {other}", Spread.of(ratios), "×", **bar))
    found.samples["sides"] = samples
    found.lines += [f"{side}: {words}" for side, words in how.items()]
    return found


def ratios_of(ours: list[float], theirs: list[float]) -> list[float]:
    """None where one of them was not measured, or recorded nothing: in a short run that says nothing of a queue."""
    return [our / their for our, their in zip(ours, theirs, strict=True)] if ours and theirs and all(theirs) else []
