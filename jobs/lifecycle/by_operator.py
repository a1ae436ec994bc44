"""What an operator does with jobs, in the admin or over HTTP: the verb, and who it was, for the history."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.prioritise import set_priority
from jobs.lifecycle.retry import requeue, retry
from jobs.lifecycle.run_now import run_now


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
