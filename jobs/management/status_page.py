"""What `queue_status` shows: what the dashboard does, in a terminal."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from jobs.lifecycle.set_limit import told as told_limit
from jobs.management.tables import Cell, Column, heading, state, table
from jobs.readable import brief_duration, clock_time, human_duration, per_minute, told_empty_in
from jobs.sanitise import printable
from jobs.selectors.concerns import Concern
from jobs.selectors.depth import Depth
from jobs.selectors.limits import LimitState
from jobs.selectors.overview import Overview, RunningJob, running_jobs
from jobs.selectors.throughput import Activity
from jobs.states import EventName

COUNTS = ("pending", "scheduled", "running", "completed", "failed", "cancelled")


def document(seen: Overview) -> dict[str, Any]:
    return {
        "queues": {name: {**depth.as_dict(), **pace(seen, name)} for name, depth in seen.depths.queues.items()},
        "total": seen.depths.total.as_dict(),
        "limits": [state.as_dict() for state in seen.limits],
        "workers": seen.workers,
        "slots": asdict(seen.slots),
        "last_hour": figures(seen.last_hour),
        "last_day": figures(seen.last_day),
        "attention": [asdict(concern) for concern in seen.concerns],
    }


def pace(seen: Overview, queue: str) -> dict[str, float | None]:
    rate = seen.rate_of(queue)
    minutes = rate.minutes_to_empty(seen.depths.queues[queue].pending)
    return {
        "entered_per_minute": rate.entered_per_minute,
        "left_per_minute": rate.left_per_minute,
        "seconds_to_empty": None if minutes is None else minutes * 60,
    }


def figures(lately: Activity) -> dict[str, Any]:
    return {
        "events": dict(lately.events),
        "ended_per_minute": lately.per_minute,
        "failure_rate": lately.failure_rate,
        "waited": lately.waits.as_dict(),
        "ran": lately.runs.as_dict(),
    }


def shown(seen: Overview) -> list[str | RenderableType]:
    lately = [figures_line("Last hour", seen.last_hour), figures_line("Last day", seen.last_day)]
    return [
        *attention(seen.concerns),
        queues_table(seen),
        *paces(seen),
        *limit_lines(seen),
        "",
        *lately,
        workers_line(seen),
        "",
        *holders(seen),
    ]


def workers_line(seen: Overview) -> str:
    workers = ", ".join(f"{number} {status}" for status, number in seen.workers.items() if number)
    in_use = f"; {seen.slots.in_use:,} of {seen.slots.total:,} slots in use" if seen.slots.total else ""
    return f"Workers: {workers or 'none registered'}{in_use}"


def attention(concerns: list[Concern]) -> list[str | RenderableType]:
    """What is wrong, above all else."""
    lines = [
        Text.assemble(
            (f"! {printable(concern.text)}", "bold red" if concern.grave else "bold yellow"), " ", concern.advice
        )
        for concern in concerns
    ]
    return [*lines, ""] if lines else []


def figures_line(title: str, lately: Activity) -> str:
    if not lately.ended:
        return f"{title}: nothing ended"
    waited, ran = (
        f"{brief_duration(times.at(0.5))} / {brief_duration(times.at(0.95))}" for times in (lately.waits, lately.runs)
    )
    failed = f"{lately.events[EventName.FAILED]:,} failed ({lately.failure_rate or 0:.1%})"
    return (
        f"{title}: {lately.ended:,} ended ({per_minute(lately.per_minute)} / min), {failed}, "
        f"waited {waited}, ran {ran} (half / 95 %)"
    )


def holders(seen: Overview) -> list[str | RenderableType]:
    if not seen.held:
        return ["No job is running."]
    unseen = seen.depths.total.running - len(seen.held)
    more = [f"… and {unseen:,} more; `list_jobs --status running` shows them."] if unseen > 0 else []
    return [holders_table(running_jobs(seen), seen.now), *more]


def queues_table(seen: Overview) -> RenderableType:
    depths = seen.depths
    if not depths.queues:
        return Text("There are no jobs. `manage.py enqueue KIND` makes one.")
    columns = [Column("QUEUE", cut=True), *(Column(name.upper(), right=True) for name in COUNTS), Column("OLDEST")]
    rows = [depth_row(name_cell(name, name in depths.paused), depth) for name, depth in depths.queues.items()]
    return table(columns, [*rows, depth_row(heading("total"), depths.total)])


def paces(seen: Overview) -> list[str]:
    """Of the queues in which jobs wait: a table of 80 columns has no room for it."""
    waiting = {queue: depth.pending for queue, depth in seen.depths.queues.items() if depth.pending}
    return [pace_line(queue, pending, seen.rate_of(queue)) for queue, pending in waiting.items()]


def pace_line(queue: str, pending: int, rate: Activity) -> str:
    moved = f"{per_minute(rate.entered_per_minute)} in, {per_minute(rate.left_per_minute)} out / min"
    minutes = rate.minutes_to_empty(pending)
    end = "not getting shorter" if minutes is None else f"empty in {told_empty_in(minutes, pending)}"
    return f"{printable(queue)}: {moved}, {end}"


def limit_lines(seen: Overview) -> list[str]:
    """What holds jobs back, one line each."""
    return [limit_line(state, seen.now) for state in seen.limits]


def limit_line(state: LimitState, now: datetime) -> str:
    limit = state.limit
    says = ["paused" + f" ({printable(limit.reason)})" * bool(limit.reason)] if limit.paused else []
    says += [told] if (told := told_limit(limit)) else []
    opens = f", opens {clock_time(limit.opens_at, now)}" if limit.opens_at and limit.opens_at > now else ""
    held = f", {state.held_back:,} held back" if state.held_back else ""
    return f"Limit of {limit.target} {printable(limit.name)}: {', '.join(says)}; {state.running:,} running{held}{opens}"


def name_cell(name: str, paused: bool) -> Cell:
    return Text.assemble(printable(name), ("  paused", "bold yellow")) if paused else name


def depth_row(name: Cell, depth: Depth) -> list[Cell]:
    age = depth.oldest_pending_seconds
    return [name, *(f"{getattr(depth, count):,}" for count in COUNTS), "" if age is None else human_duration(age)]


def holders_table(running: list[RunningJob], now: datetime) -> RenderableType:
    columns = [
        Column("JOB", right=True),
        Column("WHAT, AND WHO HOLDS IT", cut=True),
        Column("STATE"),
        Column("%", right=True),
        Column("LEFT", right=True),
        Column("SINCE"),
        Column("LEASE", right=True),
    ]
    return table(columns, [holder_row(shown, now) for shown in running])


def holder_row(shown: RunningJob, now: datetime) -> list[Cell]:
    job: Any = shown.job  # read with its state
    left = (job.lease_expires_at - now).total_seconds()
    since = clock_time(job.claimed_at, now)
    eta = "" if shown.eta is None else human_duration(shown.eta)
    return [job.pk, what_and_who(shown), state(job.state), job.progress, eta, since, lease_left(left)]


def what_and_who(shown: RunningJob) -> Text:
    """Lines below each other, so that a terminal of 80 columns has room for all."""
    job, holding = shown.job, shown.held_by
    where = f" on {printable(holding.hostname)}, pid {holding.pid}" if holding.pid else ", whose row is gone"
    what = f"{printable(job.kind)}  {printable(job.subject)}".rstrip()
    qualities = [f"{printable(row.name)} {row.progress} %" for row in shown.qualities]
    parts = ["\n", "  ".join(qualities)] if qualities else []
    return Text.assemble(what, *parts, "\n", (f"by {printable(job.last_worker_name)}{where}", "dim"))


def lease_left(seconds: float) -> Text:
    return Text(human_duration(seconds)) if seconds > 0 else Text(f"over {human_duration(-seconds)}", "bold red")
