"""What operators can do with jobs: each action by name, with what it does, whom it takes, and who may."""

from collections.abc import Callable
from dataclasses import dataclass

from jobs.lifecycle.by_operator import (
    Done,
    Ids,
    Said,
    do_cancel,
    do_clear,
    do_move,
    do_prioritise,
    do_requeue,
    do_retry,
    do_run_now,
)
from jobs.states import ShownState

WAITING = (ShownState.UNCLAIMED, ShownState.SCHEDULED, ShownState.RETRYING)
HELD = (ShownState.CLAIMED, ShownState.EXPIRED, ShownState.STALLED)
ENDED = (ShownState.COMPLETED, ShownState.FAILED, ShownState.CANCELLED)
FRONT, BACK = 100, -100


@dataclass(frozen=True)
class Action:
    name: str
    label: str
    explained: str
    takes: tuple[ShownState, ...]
    run: Callable[[Ids, Said], Done]
    asks_for: str = ""  # what the confirmation page has a field for
    confirmed: bool = True  # on a job's own page, too, it is asked first
    administers: bool = False

    @property
    def verb(self) -> str:
        """Where it is not a choice that asks for more."""
        return self.label.removesuffix(" …")

    def fits(self, state: str) -> bool:
        return state in self.takes


ACTIONS = {
    action.name: action
    for action in (
        Action(
            "retry", "Retry", "They run again with all attempts; finished phases, qualities and the checkpoint stay.",
            (ShownState.FAILED, ShownState.CANCELLED), do_retry, confirmed=False,
        ),
        Action(
            "requeue", "Requeue from the start", "They run again from nothing: results, phases and qualities are lost.",
            ENDED, do_requeue,
        ),
        Action(
            "run_now", "Run now", "They no longer wait for their time, and run as soon as a worker has room.",
            (ShownState.SCHEDULED, ShownState.RETRYING), do_run_now, confirmed=False,
        ),
        Action(
            "front", "To the front", f"They get the highest priority, {FRONT}.",
            WAITING, lambda ids, said: do_prioritise(ids, said, FRONT), confirmed=False,
        ),
        Action(
            "back", "To the back", f"They get the lowest priority, {BACK}.",
            WAITING, lambda ids, said: do_prioritise(ids, said, BACK), confirmed=False,
        ),
        Action(
            "priority", "Set priority …", "Of those in a queue, a job of a higher priority goes first.",
            WAITING, do_prioritise, asks_for="priority",
        ),
        Action(
            "move", "Move to another queue …", "They wait there; priority and time stay.",
            WAITING, do_move, asks_for="queue",
        ),
        Action(
            "cancel", "Cancel", "Waiting jobs end at once; running ones are asked to stop.",
            (*WAITING, *HELD), do_cancel,
        ),
        Action(
            "clear", "Clear", "They are deleted, with their history.", ENDED, do_clear, administers=True,
        ),
    )
}  # fmt: skip
