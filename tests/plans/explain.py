"""Replays the statements of a verb under EXPLAIN ANALYZE and tells what each of them reads."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.sql.bound import AND
from tests.concurrency.threads import rolled_back
from tests.in_full import sent_in_full

BIG_TABLES = ("jobs_job", "jobs_jobevent")
TRANSACTION_WORDS = ("SAVEPOINT", "RELEASE", "ROLLBACK", "BEGIN", "COMMIT")


@dataclass(frozen=True)
class Scan:
    """One node of a plan that reads a big table."""

    node: str
    table: str
    index: str
    condition: str
    visited: int
    statement: str

    def __str__(self) -> str:
        return f"{self.node} of {self.table} by {self.index or 'no index'} ({self.visited} rows) in {self.statement}"


def scans_of(verb: Callable[[], Any]) -> list[Scan]:
    """What the verb's statements read of the big tables. Nothing that they do remains."""
    statements = statements_of(verb)
    with rolled_back():
        return [scan for statement in statements for scan in explain(statement)]


def statements_of(verb: Callable[[], Any]) -> list[str]:
    with rolled_back(), sent_in_full(), CaptureQueriesContext(connection) as captured:
        verb()
    statements = [statement for query in captured.captured_queries for statement in query["sql"].split(AND)]
    assert any("jobs_job" in statement for statement in statements), "the verb did not look at jobs at all"
    return [statement for statement in statements if not statement.startswith(TRANSACTION_WORDS)]


def explain(statement: str) -> list[Scan]:
    """Run the statement; if it reads a big table, say how."""
    with connection.cursor() as cursor, transaction.atomic():
        if not any(f'FROM "{table}"' in statement or f'UPDATE "{table}"' in statement for table in BIG_TABLES):
            cursor.execute(statement)
            return []
        cursor.execute(f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}")
        plan = cursor.fetchone()[0]
    plan = json.loads(plan) if isinstance(plan, str) else plan
    return list(walk(plan[0]["Plan"], statement))


def walk(node: dict[str, Any], statement: str) -> Iterator[Scan]:
    for part in node.get("Plans", []):
        yield from walk(part, statement)
    if node["Node Type"].endswith("Scan"):
        scan = scan_of(node, statement)
        if scan.table in BIG_TABLES:
            yield scan


def scan_of(node: dict[str, Any], statement: str) -> Scan:
    index = node.get("Index Name", "")
    table = node.get("Relation Name") or table_of(index)
    return Scan(node["Node Type"], table, index, node.get("Index Cond", ""), visited_by(node), statement[:300])


def visited_by(node: dict[str, Any]) -> int:
    """Rows looked at, wanted or not."""
    if node["Node Type"] == "Bitmap Index Scan":
        return 0  # the heap scan above it counts them; this one also meets what other tests rolled back
    removed = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
    return round((node["Actual Rows"] + removed) * node["Actual Loops"])


def table_of(index: str) -> str:
    """A bitmap index scan names its index only."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_indexes WHERE indexname = %s", [index])
        row = cursor.fetchone()
    return row[0] if row else ""


def assert_frugal(scans: list[Scan], at_most: int) -> None:
    """No sequential scan, no walk along the primary key, and few rows visited in all."""
    told = "\n".join(map(str, scans))
    assert scans, "no statement reads a big table: nothing was checked"
    for scan in scans:
        assert scan.node != "Seq Scan", told
        assert scan.index != f"{scan.table}_pkey" or "id" in scan.condition, told
    assert sum(scan.visited for scan in scans) <= at_most, told
