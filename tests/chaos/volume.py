"""Whether there was enough to judge by: a run in which little happens keeps every promise."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tests.chaos.clients import ENDLESS_KIND, KINDS
from tests.chaos.nemesis import FAULTS, Step
from tests.chaos.site import WORKERS
from tests.chaos.story import Story

# In a minute, at least; a twentieth or so of what two cores do, for a machine that is busy with other things.
ENQUEUED = {"enqueuer-1": 15, "enqueuer-2": 15, "http": 5, "programs": 2}
CANCELLED, RETRIED = 2, 2
COMPLETED_BY_KIND, COMPLETED_BY_WORKER = 2, 5
ENDLESS_STARTS, FAULTS_MET = 1, 10
SURELY = 3  # times that a fault is planned until it must have found something to break


def too_little(story: Story, seconds: float) -> Iterator[str]:
    """What there was less of than must be; at least one of each, however short the run was."""
    for what, (number, a_minute) in volumes(story).items():
        least = max(1, int(a_minute * seconds / 60))
        if number < least:
            yield f"too little to judge by: {what}: {number}, and {least} must be"


def never_met(story: Story, steps: Sequence[Step], impossible: Sequence[str] = ()) -> Iterator[str]:
    """Faults that never took effect, though they were tried again and again."""
    for fault, times in Counter(step.fault for step in steps).items():
        if times >= SURELY and fault not in impossible and not story.said(fault):
            yield f"too little to judge by: {fault!r} took no effect in {times} tries"


def volumes(story: Story) -> Mapping[str, tuple[int, int]]:
    kinds = {job.id: job.kind for job in story.jobs}
    over = min((line.at for line in story.said("well")), default=0.0)
    completed = [event for event in story.events if event.name == "completed" and event.at <= over]
    enqueued = Counter(line.who for line in story.said("enqueued"))
    by_kind = Counter(kinds.get(event.job, "") for event in completed)
    by_worker = Counter(event.worker for event in completed)
    starts = Counter(kinds.get(line.job, "") for line in story.said("start"))
    return {
        "faults": (len(story.said(*FAULTS)), FAULTS_MET),
        **{f"jobs of {name}": (enqueued[name], least) for name, least in ENQUEUED.items()},
        "cancels": (len(story.said("cancelled", "cancel_requested")), CANCELLED),
        "retries": (len(story.said("retried")), RETRIED),
        **{f"completed {kind}": (by_kind[kind], COMPLETED_BY_KIND) for kind in KINDS},
        **{f"jobs completed by {name}": (by_worker[name], COMPLETED_BY_WORKER) for name in WORKERS},
        f"started {ENDLESS_KIND}": (starts[ENDLESS_KIND], ENDLESS_STARTS),
    }
