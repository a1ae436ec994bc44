"""What operators can do with a periodic job by one click."""

from collections.abc import Callable
from dataclasses import dataclass

from jobs.lifecycle.periodic.edit import edit, remove, reset, run_now
from jobs.selectors.periodic import PeriodicState, ShownPeriodic


@dataclass(frozen=True)
class PeriodicAction:
    name: str
    label: str
    explained: str
    fits: Callable[[ShownPeriodic], bool]
    run: Callable[[str], str]  # says what it did
    administers: bool = False


def do_run_now(name: str) -> str:
    return f"job {run_now(name)} enqueued"


def do_turn_on(name: str) -> str:
    return "turned on" if edit(name, enabled=True) else "it was on already"


def do_turn_off(name: str) -> str:
    return "turned off" if edit(name, enabled=False) else "it was off already"


def do_reset(name: str) -> str:
    terms = reset(name)
    return f"reset to what the code says: {', '.join(terms)}" if terms else "it was as the code says already"


def do_remove(name: str) -> str:
    remove(name)
    return "removed"


ACTIONS = {
    action.name: action
    for action in (
        PeriodicAction(
            "run_now", "Run now", "A job of it is enqueued at once, beside its ticks.",
            lambda shown: shown.state != PeriodicState.UNKNOWN, do_run_now,
        ),
        PeriodicAction(
            "turn_on", "Turn on", "It ticks from now on; what would have been due meanwhile is not made up for.",
            lambda shown: not shown.row.enabled, do_turn_on,
        ),
        PeriodicAction(
            "turn_off", "Turn off", "It ticks no more until somebody turns it on. What is enqueued stays.",
            lambda shown: shown.row.enabled and shown.state != PeriodicState.GONE, do_turn_off,
        ),
        PeriodicAction(
            "reset", "Reset to code", "All that was edited is again as the code declares it.",
            lambda shown: bool(shown.row.edited), do_reset,
        ),
        PeriodicAction(
            "remove", "Remove", "It is forgotten, with the history of its ticks; its jobs stay.",
            lambda shown: shown.row.declared is None or shown.state == PeriodicState.GONE, do_remove, administers=True,
        ),
    )
}  # fmt: skip
