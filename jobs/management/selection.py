"""The options by which a command is told which jobs it is about."""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

from django.core.management.base import CommandParser

from jobs.management.arguments import duration, job_id, not_empty
from jobs.management.base import refuse
from jobs.selectors.jobs import JobFilter
from jobs.states import ShownState, Status

FILTERS = ("statuses", "states", "queue", "kind", "scope", "older_than")
REASONS_SHOWN = 20


def add_ids(parser: CommandParser, verb: str) -> None:
    parser.add_argument("ids", nargs="*", type=job_id, metavar="ID", help=f"a job to {verb}; give any number of them")


def add_filter(parser: CommandParser, statuses: Iterable[Status], *, states: bool = False) -> None:
    group = parser.add_argument_group("filter", "Jobs that match all of these are chosen.")
    group.add_argument(
        "--status", action="append", default=[], dest="statuses", choices=[str(status) for status in statuses],
        help="only jobs with this status; may be given several times",
    )  # fmt: skip
    if states:
        group.add_argument(
            "--state", action="append", default=[], dest="states", choices=[str(state) for state in ShownState],
            help="only jobs in this finer state, as list_jobs shows it; may be given several times",
        )  # fmt: skip
    add_places(group)


def add_places(group: Any) -> None:
    group.add_argument("--queue", type=not_empty, metavar="NAME", help="only jobs of this queue")
    group.add_argument("--kind", type=not_empty, metavar="KIND", help="only jobs of this kind")
    group.add_argument("--scope", type=not_empty, metavar="SCOPE", help="only jobs of this scope (library, tenant)")
    group.add_argument(
        "--older-than", type=duration, metavar="AGE",
        help="only jobs that ended, or if they have not ended were enqueued, longer ago than this: 90, 15m, 12h, 7d",
    )  # fmt: skip


def job_filter(options: Mapping[str, Any]) -> JobFilter:
    return JobFilter(
        ids=tuple(options.get("ids", ())),
        statuses=tuple(options.get("statuses", ())),
        states=tuple(options.get("states", ())),
        queue=options["queue"],
        kind=options["kind"],
        scope=options["scope"],
        older_than=options["older_than"],
    )


def chosen(options: Mapping[str, Any], verb: str, otherwise: Iterable[Status] = ()) -> JobFilter:
    """The filter of a command that changes jobs: something must be given. `otherwise`: the statuses if none is."""
    filtered = any(options.get(name) not in (None, []) for name in FILTERS)
    if not options["ids"] and not filtered:
        refuse(f"Say which jobs to {verb}: give their ids, or a filter such as --queue, --kind or --scope.")
    if options["ids"] or options.get("statuses") or options.get("states"):
        return job_filter(options)
    return job_filter({**options, "statuses": tuple(otherwise)})


def not_found(which: JobFilter, seen: Collection[int]) -> dict[int, str]:
    """The jobs that were named and not found, each with the reason."""
    only_ids = which == JobFilter(ids=which.ids)
    why = "there is no such job" if only_ids else "there is no such job, or it does not match the filter"
    return dict.fromkeys(sorted(set(which.ids) - set(seen)), why)


def reasons(skipped: Mapping[int, str]) -> list[str]:
    """A line for each of the first jobs that were left alone."""
    lines = [f"Left alone: job {job_id}, because {why}." for job_id, why in islice(skipped.items(), REASONS_SHOWN)]
    more = len(skipped) - len(lines)
    return [*lines, f"Left alone: {more:,} more."] if more else lines
