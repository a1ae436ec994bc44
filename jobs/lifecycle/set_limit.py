"""Set, lift, pause and resume: what operators say about a limit. Whoever then has room is let go."""

import re
from dataclasses import asdict, dataclass
from typing import Any

from jobs.db import Now, transactional
from jobs.exceptions import InvalidInput, LimitNotFound
from jobs.lifecycle import events, limits, wake_up
from jobs.lifecycle.new_job import check_queue, check_text
from jobs.models import Limit
from jobs.models.limit import EACH
from jobs.states import EventName, LimitTarget
from jobs.windows import Window, time_zone

MOST_RUNNING = 1_000_000
RATE = re.compile(r"(\d{1,9})\s*/\s*(\d{0,9})([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
LONGEST_PERIOD = 31 * 86_400
MAX_SWEEPS = 1000


@dataclass(frozen=True)
class Rules:
    """What a limit says; None and empty say nothing."""

    max_running: int | None = None
    rate_jobs: int | None = None
    rate_seconds: float | None = None
    window: str = ""
    time_zone: str = ""

    @property
    def says_something(self) -> bool:
        return self.max_running is not None or self.rate_jobs is not None or bool(self.window)


def parse_rate(text: str) -> tuple[int, float]:
    """`100/m`, `5/10s`, `1000/d`: so many jobs in any such period."""
    match = RATE.fullmatch(text.strip())
    jobs, seconds = (int(match[1]), int(match[2] or 1) * SECONDS[match[3]]) if match else (0, 0)
    if jobs < 1 or not 1 <= seconds <= LONGEST_PERIOD:
        raise InvalidInput(
            f"The rate {text!r} is not a number of jobs and a period of at most 31 days, as in 100/m, 5/10s or 1000/d."
        )
    return jobs, float(seconds)


def check_name(target: Any, name: Any) -> tuple[LimitTarget, str]:
    if target not in list(LimitTarget):
        raise InvalidInput(f"A limit is about a {', '.join(LimitTarget)}, not about {target!r}.")
    target = LimitTarget(target)
    if target in (LimitTarget.QUEUE, LimitTarget.KIND):
        check_queue(name)
    if not check_text(f"name of the {target}", name, 200):
        raise InvalidInput(f"Name the {target} that the limit is about.")
    if EACH in name[:-1] or (EACH in name and target != LimitTarget.KEY):
        raise InvalidInput(f"{name!r} is not a name: only a key may have a '*', and only at its end.")
    return target, name


def check_rules(name: str, rules: Rules) -> None:
    number = rules.max_running
    if number is not None and (
        isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= MOST_RUNNING
    ):
        raise InvalidInput(
            f"{number!r} is not a whole number from 1 to {MOST_RUNNING:,}; to let nothing run, pause it."
        )
    if rules.window:
        Window.parse(rules.window)
    if rules.time_zone:
        time_zone(rules.time_zone)
    if rules.rate_jobs is not None and name.endswith(EACH):
        raise InvalidInput(
            f"A rate counts the starts of one key: {name!r} means many. Name one, or limit how many run."
        )
    if not rules.says_something:
        raise InvalidInput("Say how many may run at once, how many may start per period, or at which hours.")


def set_limit(target: str, name: str, rules: Rules, reason: str = "") -> Limit:
    """Make or replace a limit. What runs goes on, even if there is more of it than allowed from now on."""
    about, name = check_name(target, name)
    check_rules(name, rules)
    limit = write(about, name, rules, check_text("reason", reason, 500))
    sweep_all()
    return limit


@transactional
def write(target: LimitTarget, name: str, rules: Rules, reason: str) -> Limit:
    limit = locked(target, name)
    for column, value in asdict(rules).items():
        setattr(limit, column, value)
    limit.opens_at, limit.starts = None, limit.starts if rules.rate_jobs else []
    limit.save()
    note(limit, EventName.LIMIT_SET, ", ".join(filter(None, (told(limit), reason))))
    return limit


def lift_limit(target: str, name: str, reason: str = "") -> None:
    """Remove a limit; a pause of the same name stays."""
    about, name = check_name(target, name)
    remove(about, name, reason)
    sweep_all()


@transactional
def remove(target: LimitTarget, name: str, reason: str) -> None:
    limit = Limit.objects.select_for_update().filter(target=target, name=name).first()
    if limit is None or not rules_of(limit).says_something:
        raise LimitNotFound(target=target, name=name)
    note(limit, EventName.LIMIT_REMOVED, reason)
    if limit.paused:
        Limit.objects.filter(pk=limit.pk).update(**asdict(Rules()), opens_at=None, starts=[])
    else:
        limit.delete()


@transactional
def pause(target: str, name: str, reason: str = "") -> bool:
    """Let nothing of a kind, scope or key start; returns whether it was not paused before."""
    about, name = check_name(target, name)
    check_text("reason", reason, 500)
    if about == LimitTarget.QUEUE:
        raise InvalidInput("A queue is paused by jobs.lifecycle.queues.pause.")
    limit = locked(about, name)
    if limit.paused:
        return False
    Limit.objects.filter(pk=limit.pk).update(paused=True, paused_at=Now(), reason=reason)
    note(limit, EventName.LIMIT_SET, ", ".join(filter(None, ("paused", reason))))
    return True


def resume(target: str, name: str, reason: str = "") -> bool:
    """Returns whether it was paused before."""
    changed = resume_one(*check_name(target, name), reason)
    if changed:
        sweep_all()
    return changed


@transactional
def resume_one(target: LimitTarget, name: str, reason: str) -> bool:
    limit = Limit.objects.select_for_update().filter(target=target, name=name, paused=True).first()
    if limit is None:
        return False
    note(limit, EventName.LIMIT_SET, ", ".join(filter(None, ("resumed", reason))))
    if rules_of(limit).says_something:
        Limit.objects.filter(pk=limit.pk).update(paused=False, paused_at=None, reason="")
    else:
        limit.delete()
    return True


def locked(target: LimitTarget, name: str) -> Limit:
    Limit.objects.get_or_create(target=target, name=name)
    return Limit.objects.select_for_update(no_key=True).get(target=target, name=name)


def rules_of(limit: Limit) -> Rules:
    return Rules(limit.max_running, limit.rate_jobs, limit.rate_seconds, limit.window, limit.time_zone)


def told(limit: Limit) -> str:
    """What a limit says, in words."""
    parts = []
    if limit.max_running is not None:
        parts.append(f"at most {limit.max_running:,} at once" + " for each key" * limit.is_of_each)
    if limit.rate_jobs is not None:
        parts.append(f"at most {limit.rate_jobs:,} in {limit.rate_seconds:g} s")
    if limit.window:
        parts.append(f"only {limit.window}" + f" ({limit.time_zone})" * bool(limit.time_zone))
    return ", ".join(parts)


def note(limit: Limit, event: EventName, reason: str) -> None:
    queue = limit.name if limit.target == LimitTarget.QUEUE else ""
    events.record([events.of_queue(queue, event, f"{limit}: {reason}" if reason else str(limit))])
    if queue:
        wake_up.send_to([queue])


def sweep_all() -> None:
    """Each batch is a transaction of its own; what a crash leaves, the next reap lets go."""
    for _ in range(MAX_SWEEPS):
        if limits.sweep() < limits.LET_GO_AT_ONCE:
            return
