"""`manage.py list_periodic`: what is enqueued again and again."""

from datetime import datetime
from typing import Any

from jobs.management.base import JobyardCommand
from jobs.management.documents import row_document
from jobs.management.tables import Cell, Column, state, table
from jobs.readable import human_duration
from jobs.selectors.clock import database_now
from jobs.selectors.periodic import ShownPeriodic, list_periodic

COLUMNS = [
    Column("NAME", cut=True), Column("STATE"), Column("SCHEDULE"), Column("ZONE", cut=True), Column("NEXT", right=True),
    Column("LAST", right=True), Column("JOB", right=True), Column("BECAME"), Column("FROM", cut=True),
]  # fmt: skip


class Command(JobyardCommand):
    help = """List periodic jobs: whether each is on, its schedule and time zone, when it is due next and was last, and
what became of its last job. Those that the code declares are known once a worker or run_periodic has started."""
    examples = """  manage.py list_periodic
  manage.py list_periodic --json"""

    def handle(self, *args: Any, **options: Any) -> None:
        rows, now = list_periodic(), database_now()
        none = (
            "There is no periodic job. Declare one with @periodic, or add one in the admin. "
            "What was declared just now is known once a worker has started, or run_periodic has run."
        )
        self.answer(
            {"periodic_jobs": [document(shown) for shown in rows]},
            table(COLUMNS, [cells(shown, now) for shown in rows]) if rows else none,
        )


def document(shown: ShownPeriodic) -> dict[str, Any]:
    return {
        **row_document(shown.row),
        "state": shown.state,
        "time_zone": shown.zone,
        "last_job_state": shown.last_job.state if shown.last_job else None,
    }


def cells(shown: ShownPeriodic, now: datetime) -> list[Cell]:
    row, job = shown.row, shown.last_job
    return [
        row.name,
        state(shown.state.replace("_", " ")),
        row.schedule,
        shown.zone if shown.goes_by_the_wall else "",
        told(row.next_at, now),
        told(row.last_at, now),
        row.last_job_id,
        state(job.state) if job else None,
        shown.origin,
    ]


def told(moment: datetime | None, now: datetime) -> str:
    if moment is None:
        return ""
    seconds = (moment - now).total_seconds()
    return f"in {human_duration(seconds)}" if seconds >= 0 else f"{human_duration(-seconds)} ago"
