"""What operators can do with workers."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from jobs.lifecycle import workers
from jobs.models import Worker
from jobs.states import LIVE_WORKER, WorkerStatus


@dataclass(frozen=True)
class WorkerAction:
    name: str
    label: str
    explained: str
    done: str
    fits: Callable[[Worker], bool]
    otherwise: str
    run: Callable[[UUID, str], object]
    administers: bool = False


ACTIONS = {
    action.name: action
    for action in (
        WorkerAction(
            "disable", "Disable", "It claims nothing more, and hands its running jobs back.", "disabled",
            lambda worker: worker.status != WorkerStatus.DISABLED, "it is disabled already", workers.disable,
        ),
        WorkerAction(
            "enable", "Enable", "Its next heartbeat brings it back to work.", "enabled",
            lambda worker: worker.status == WorkerStatus.DISABLED, "it is not disabled", workers.enable,
        ),
        WorkerAction(
            "drain", "Drain", "It finishes what it runs, claims nothing more, and exits.", "asked to drain",
            lambda worker: worker.status in LIVE_WORKER and not worker.drain_requested,
            "it is not running, or was asked before", workers.drain,
        ),
        WorkerAction(
            "remove", "Remove", "Its row is deleted; what it did keeps its name.", "removed",
            lambda worker: worker.status == WorkerStatus.OFFLINE,
            "it is not offline, or still has a running job", workers.remove, administers=True,
        ),
    )
}  # fmt: skip
