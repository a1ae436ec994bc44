"""Query plans in a line: which indexes a statement goes through, and whether it reads a table from end to end."""

import json
from collections.abc import Iterator
from typing import Any

from django.db import connection

# A handful of rows each, whatever the queue went through: reading them whole is the right plan.
SMALL_TABLES = ("jobs_worker", "jobs_queue", "jobs_queuetotal")
NO_PLAN = ("BEGIN", "COMMIT")
NO_TABLE = ("CTE Scan", "WorkTable Scan", "Subquery Scan", "Function Scan", "Values Scan")


def plan_of(sql: str) -> str:
    """`Index Scan job_ready, Seq Scan worker`; nothing for statements that have no choice."""
    if sql.strip().startswith(NO_PLAN):
        return ""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        answer = cursor.fetchone()[0]
    plan = json.loads(answer) if isinstance(answer, str) else answer
    return ", ".join(dict.fromkeys(scans(plan[0]["Plan"])))


def scans(node: dict[str, Any]) -> Iterator[str]:
    if "Scan" in node["Node Type"] and node["Node Type"] not in NO_TABLE:
        yield f"{node['Node Type']} {node.get('Index Name') or node.get('Relation Name', '')}".strip()
    for child in node.get("Plans", ()):
        yield from scans(child)


def reads_too_much(plan: str) -> bool:
    """Whether a plan reads a table that grows from end to end."""
    whole = [part.removeprefix("Seq Scan ") for part in plan.split(", ") if part.startswith("Seq Scan ")]
    return any(table not in SMALL_TABLES for table in whole)
