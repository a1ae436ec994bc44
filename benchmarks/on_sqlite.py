"""The same measures on SQLite, beside the other queue of Django's that runs there."""

import sqlite3
from pathlib import Path

from benchmarks.competitor import Competitor, pythons
from benchmarks.findings import Figure, Findings
from benchmarks.measure import Spread
from benchmarks.report import say
from benchmarks.scale import Scale

SIDES = ("jobyard", "django_tasks_db")
SHARE = 0.5  # of the jobs that are drained elsewhere


class OnSqlite(Competitor):
    def __init__(self, name: str, python: Path) -> None:
        super().__init__(name, python, None)  # type: ignore[arg-type]  # there is no server

    def make_database(self) -> None:
        file = Path(self.folder.name) / "jobs.sqlite3"
        self.url = f"sqlite:///{file}"
        self.connection = sqlite3.connect(file, timeout=30, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")

    def empty(self) -> None:
        for table in self.facts["tables"]:
            self.connection.execute(f"DELETE FROM {table}")

    def settle(self) -> None:
        self.connection.execute("ANALYZE")

    def usage(self, processes: object) -> dict[str, float]:
        return {}


def measure(scale: Scale) -> Findings:
    found = Findings("On SQLite")
    sides = [OnSqlite(name, python) for name, python in pythons().items() if name in SIDES]
    drained: dict[str, list[float]] = {side.name: [] for side in sides}
    stored: list[float] = []
    try:
        for number in range(scale.side_rounds):
            say(f"SQLite, round {number + 1} of {scale.side_rounds}")
            for side in sides if number % 2 else reversed(sides):
                drained[side.name].append(side.drain(1, scale.side_share * SHARE)["per_second"])
                if many := side.enqueue_many(scale.side_seconds):
                    stored.append(many["per_second"])
    finally:
        for side in sides:
            side.close()
    found.figures.append(Figure("enqueue_many, jobyard", Spread.of(stored), "/s"))
    for name, rates in drained.items():
        found.figures.append(Figure(f"drain, 1 worker, {name}", Spread.of(rates), "/s"))
    if len(sides) == len(SIDES):
        ratio = [ours / theirs for ours, theirs in zip(*(drained[name] for name in SIDES), strict=True)]
        found.figures.append(Figure("drain, 1 worker: jobyard : django_tasks_db", Spread.of(ratio), "×", at_least=10))
    found.samples["drain"] = drained
    return found
