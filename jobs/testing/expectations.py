"""What was enqueued, and what was not: questions to the database, with answers that show what is there instead."""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from jobs.exceptions import InvalidInput
from jobs.handlers.base import UNSET
from jobs.handlers.registry import registry
from jobs.models import Job
from jobs.states import Hold, Status

MOST_SHOWN, LONGEST_SHOWN = 20, 200
FIELDS = ("queue", "priority", "subject", "scope", "dedupe_key", "status", "max_attempts")
RunAfter = datetime | timedelta | None


def enqueued(kind: str | None = None, payload: Mapping[str, Any] | None = None, **expected: Any) -> list[Job]:
    """The jobs that fit, in the order in which they were enqueued, whatever became of them since."""
    check_expected(kind, expected)
    jobs = Job.objects.order_by("id")
    return [job for job in (jobs.filter(kind=kind) if kind else jobs) if not differences(job, payload, expected)]


def assert_enqueued(
    kind: str, payload: Mapping[str, Any] | None = None, *, count: int | None = None, **expected: Any
) -> Job:
    """Fail unless such a job was enqueued (with `count`: exactly so many); returns it, the last one of several.

    `payload` need not be the whole of it: what is named must be there, in nested objects, too. `queue`, `priority`,
    `subject`, `scope`, `dedupe_key`, `max_attempts` and `status` must be equal. `run_after` is a datetime, or a
    timedelta from now, give or take `within` (2) seconds; None means that it is not scheduled for later.
    """
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise InvalidInput(f"count is {count!r}; it is a whole number from 1 on. For none, use assert_not_enqueued().")
    found = enqueued(kind, payload, **expected)
    if not found or (count is not None and len(found) != count):
        raise AssertionError(complaint(kind, payload, expected, len(found), count))
    return found[-1]


def assert_not_enqueued(kind: str | None = None, payload: Mapping[str, Any] | None = None, **expected: Any) -> None:
    """Fail if such a job was enqueued; without a kind, if any was."""
    found = enqueued(kind, payload, **expected)
    if found:
        shown = "\n".join(f"  {line(job)}" for job in found[:MOST_SHOWN])
        raise AssertionError(f"{wanted(kind, payload, expected)} should not have been enqueued, but was:\n{shown}")


def check_expected(kind: str | None, expected: Mapping[str, Any]) -> None:
    """A name that is misspelt would fit nothing: an assertion that something is not there would pass for ever."""
    if kind is not None and not Job.objects.filter(kind=kind).exists():
        registry.get(kind)
    known = (*FIELDS, "run_after", "within")
    if unknown := sorted(expected.keys() - set(known)):
        raise InvalidInput(f"A job is not asked for its {', '.join(unknown)}; there are {', '.join(known)}.")
    moment = expected.get("run_after")
    if moment is not None and not isinstance(moment, (datetime, timedelta)):
        raise InvalidInput(f"run_after is a datetime, a timedelta from now or None, not {moment!r}.")
    if isinstance(moment, datetime) and moment.utcoffset() is None:
        raise InvalidInput(f"run_after ({moment.isoformat()}) has no time zone; use django.utils.timezone.now().")


def differences(job: Job, payload: Mapping[str, Any] | None, expected: Mapping[str, Any]) -> list[str]:
    """In which ways the job is not the one that is looked for."""
    found = missing_in(job.payload, as_stored(payload or {}), "payload")
    for name in FIELDS:
        if name in expected and getattr(job, name) != expected[name]:
            found.append(f"{name} is {getattr(job, name)!r}, not {expected[name]!r}")
    moment = expected.get("run_after", UNSET)
    if moment is not UNSET and not is_at(job, moment, expected.get("within", 2)):
        found.append(f"run_after is {moment_of(job)}, not {told(moment)}")
    return found


def as_stored(payload: Mapping[str, Any]) -> Any:
    """What JSON makes of it: tuples are lists, keys are text."""
    try:
        return json.loads(json.dumps(payload))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"No payload is like {payload!r}: {error}.") from None


def missing_in(have: Any, want: Any, path: str) -> list[str]:
    if not isinstance(want, dict) or not isinstance(have, dict):
        same = type(have) is type(want) or not {bool} & {type(have), type(want)}  # to Python, True is 1
        return [] if have == want and same else [f"{path} is {shown(have)}, not {shown(want)}"]
    absent = [f"{path}[{name!r}] is not there" for name in want if name not in have]
    return absent + [
        each for name in want if name in have for each in missing_in(have[name], want[name], f"{path}[{name!r}]")
    ]


def is_at(job: Job, moment: RunAfter, within: float) -> bool:
    if moment is None:
        return job.status != Status.PENDING or job.hold != Hold.SCHEDULED
    due = timezone.now() + moment if isinstance(moment, timedelta) else moment
    return abs(job.run_after - due) <= timedelta(seconds=within)


def moment_of(job: Job) -> str:
    away = (job.run_after - timezone.now()).total_seconds()
    return f"{job.run_after.isoformat()} ({away:+.0f} s from now)"


def told(moment: RunAfter) -> str:
    if moment is None:
        return "as soon as possible"
    return f"in {moment}" if isinstance(moment, timedelta) else moment.isoformat()


# What people read when it fails


def complaint(
    kind: str, payload: Mapping[str, Any] | None, expected: Mapping[str, Any], found: int, count: int | None
) -> str:
    what = wanted(kind, payload, expected)
    headline = f"{what} was not enqueued." if not found else f"{what} was enqueued {times(found)}, not {times(count)}."
    jobs = list(Job.objects.order_by("id")[: MOST_SHOWN + 1])
    if not jobs:
        return f"{headline} Nothing was."
    lines = [f"  {line(job)}{why(job, kind, payload, expected)}" for job in jobs[:MOST_SHOWN]]
    if len(jobs) > MOST_SHOWN:
        lines.append(f"  … and {Job.objects.count() - MOST_SHOWN} more")
    return "\n".join([headline, "Enqueued were:", *lines])


def times(number: int | None) -> str:
    return "once" if number == 1 else f"{number} times"


def wanted(kind: str | None, payload: Mapping[str, Any] | None, expected: Mapping[str, Any]) -> str:
    said = [shown(payload)] if payload else []
    said += [f"{name}={told(value) if name == 'run_after' else repr(value)}" for name, value in expected.items()]
    return " ".join([f"A job {kind!r}" if kind else "A job", *(["with", ", ".join(said)] if said else [])])


def line(job: Job) -> str:
    return f"{job.pk}: {job.kind} {shown(job.payload)} queue={job.queue} status={job.status}"


def why(job: Job, kind: str, payload: Mapping[str, Any] | None, expected: Mapping[str, Any]) -> str:
    if job.kind != kind:
        return ""
    not_so = differences(job, payload, expected)
    return f"  ← {'; '.join(not_so)}" if not_so else "  ← this one fits"


def shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}…"
