"""How processes ended, and which ends are in order: docs/commands.md says when a worker exits with 1."""

from dataclasses import dataclass

from jobs.worker.shutdown import NEVER_ANSWERED, NO_ANSWER

STOPPING, UNANSWERED = "stopping why=", "queue unavailable, trying again"
ONLINE = "worker online"
KILLED, TERMINATED = -9, -15


@dataclass(frozen=True)
class Exit:
    who: str
    code: int | None  # None: it did not end in time
    log: str = ""  # what it wrote since it was started
    asked: bool = False  # by SIGTERM
    killed: bool = False  # by SIGKILL of ours


def is_in_order(exit_: Exit) -> bool:
    if exit_.killed and exit_.code == KILLED:
        return True
    if not exit_.asked:
        return False
    if exit_.code == TERMINATED:  # before it could hear of it: it had not begun anything
        return ONLINE not in exit_.log
    return exit_.code == 0 or (exit_.code == 1 and could_not_tell(exit_.log))


def could_not_tell(log: str) -> bool:
    """It has never reached the queue, or the queue did not answer while it stopped."""
    _, was_asked, at_last = log.rpartition(STOPPING)
    return bool(was_asked) and any(words in at_last for words in (NEVER_ANSWERED, NO_ANSWER, UNANSWERED))


def wrong_exits(exits: list[Exit]) -> list[str]:
    return [told(exit_) for exit_ in exits if not is_in_order(exit_)]


def told(exit_: Exit) -> str:
    when = "asked to" if exit_.asked else "killed" if exit_.killed else "by itself"
    how = "did not end in time" if exit_.code is None else f"exited with {exit_.code}"
    last = exit_.log.strip().splitlines()[-1:] or ["it said nothing"]
    return f"{exit_.who} {how} ({when}): {last[0][:200]}"
