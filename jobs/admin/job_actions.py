"""What operators can do with jobs: each action by name, with its verb, whom it takes, and who may."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.prioritise import set_priority
from jobs.lifecycle.retry import requeue, retry
from jobs.lifecycle.run_now import run_now
from jobs.states import ShownState

WAITING = (ShownState.UNCLAIMED, ShownState.SCHEDULED, ShownState.RETRYING)
HELD = (ShownState.CLAIMED, ShownState.EXPIRED, ShownState.STALLED)
ENDED = (ShownState.COMPLETED, ShownState.FAILED, ShownState.CANCELLED)
FRONT, BACK = 100, -100


@dataclass(frozen=True)
class Said:
    """What an operator says beside the action itself."""

    by: str
    priority: int = 0
    queue: str = ""


@dataclass
class Done:
    """What became of some jobs: those done, by the word that tells what, and why others were left alone."""

    done: dict[str, list[int]] = field(default_factory=dict)
    skipped: dict[int, str] = field(default_factory=dict)

    def add(self, other: "Done") -> None:
        for word, ids in other.done.items():
            self.done.setdefault(word, []).extend(ids)
        self.skipped |= other.skipped

    @property
    def ids(self) -> list[int]:
        return [job_id for ids in self.done.values() for job_id in ids]


Ids = Sequence[int]


def done(word: str, ids: Iterable[int], of: Ids, otherwise: str) -> Done:
    moved = list(ids)
    return Done({word: moved}, dict.fromkeys(sorted(set(of) - set(moved)), otherwise))


def do_retry(ids: Ids, said: Said) -> Done:
    result = retry(ids, f"retried {said.by}")
    return Done({"retried": result.moved}, result.skipped)


def do_requeue(ids: Ids, said: Said) -> Done:
    result = requeue(ids, f"requeued from the start {said.by}")
    return Done({"requeued": result.moved}, result.skipped)


def do_cancel(ids: Ids, said: Said) -> Done:
    result = cancel(ids, said.by)
    skipped = dict.fromkeys(result.skipped, "it has ended, or was asked to stop before")
    return Done({"cancelled": result.cancelled, "asked to stop": result.requested}, skipped)


def do_run_now(ids: Ids, said: Said) -> Done:
    result = run_now(ids, said.by)
    return Done({"made due now": result.moved}, result.skipped)


def do_prioritise(ids: Ids, said: Said, priority: int | None = None) -> Done:
    number = said.priority if priority is None else priority
    return done(f"given priority {number}", set_priority(ids, number, said.by), ids, "it is not pending")


def do_move(ids: Ids, said: Said) -> Done:
    result = move_to_queue(ids, said.queue, said.by)
    return Done({f"moved to the queue {said.queue}": result.moved}, result.skipped)


def do_clear(ids: Ids, said: Said) -> Done:
    return done("cleared", clear(ids, f"cleared {said.by}"), ids, "it has not ended, or could not be deleted just now")


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
