"""What is told of a run: how much was broken, how soon it was well again, and whether all promises were kept."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.chaos.nemesis import FAULTS
from tests.chaos.site import WORKERS
from tests.chaos.story import Story

TAKES_WORK_AWAY = ("kill -9 of a worker", "worker stopped", "packets dropped")
MOST_SHOWN = 20


@dataclass
class Recoveries:
    """From the end of each fault until the next job was completed, in seconds."""

    by_target: list[float] = field(default_factory=list)  # of a worker: by that worker
    by_anybody: list[float] = field(default_factory=list)  # of what all stand on


def recoveries(story: Story) -> Recoveries:
    completed = [event for event in story.events if event.name == "completed"]
    everybody = sorted(event.at for event in completed)
    of_worker = {name: sorted(event.at for event in completed if event.worker == name) for name in WORKERS}
    found = Recoveries()
    for line in story.said("healed"):
        times = of_worker.get(line.who, everybody)
        at = bisect_left(times, line.at)
        if at < len(times):
            (found.by_target if line.who in of_worker else found.by_anybody).append(times[at] - line.at)
    return found


@dataclass
class Rescues:
    """Of jobs whose worker was lost, in seconds; and how many others were begun before such a job was, for what is
    taken back goes behind what waits."""

    taken_back: list[float] = field(default_factory=list)  # since the fault that befell its worker
    run_again: list[float] = field(default_factory=list)  # since then
    begun_before: list[int] = field(default_factory=list)


def rescues(story: Story) -> Rescues:
    faults = [line for line in story.lines if line.what in TAKES_WORK_AWAY]
    claims = sorted(event.at for event in story.events if event.name == "claimed")
    found = Rescues()
    for events in story.of_job.values():
        for event, later in pairwise(events):
            befell = [line.at for line in faults if line.who == event.worker and line.at <= event.at]
            if event.name != "reaped" or not befell:
                continue
            found.taken_back.append(event.at - befell[-1])
            if later.name == "claimed":
                found.run_again.append(later.at - event.at)
                found.begun_before.append(bisect_left(claims, later.at) - bisect_right(claims, event.at))
    return found


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def told_times(name: str, values: Sequence[float]) -> str:
    if not values:
        return f"{name}: did not happen"
    half, most = percentile(values, 50), percentile(values, 99)
    return f"{name}: median {half:.2f} s, p99 {most:.2f} s ({len(values)})"


def report(story: Story, seed: int, seconds: float, notes: Sequence[str], problems: Sequence[str]) -> Iterator[str]:
    broken = Counter(line.what for line in story.lines if line.what in FAULTS)
    statuses, events = Counter(job.status for job in story.jobs), Counter(event.name for event in story.events)
    yield f"seed {seed}, {seconds:g} s, {sum(broken.values())} faults:"
    yield from (f"  {times:4} {name}" for name, times in sorted(broken.items()))
    yield from notes
    yield f"{len(story.jobs)} jobs: " + ", ".join(f"{number} {status}" for status, number in sorted(statuses.items()))
    yield f"{len(story.said('start'))} executions, {events['claimed']} claims, " + ", ".join(
        f"{events[name]} {name}" for name in ("reaped", "released", "retrying", "requeued", "cancelled")
    )
    again = recoveries(story)
    yield told_times("a worker that was broken completed a job again", again.by_target)
    yield told_times("after a fault elsewhere, somebody completed the next job", again.by_anybody)
    found = rescues(story)
    yield told_times("a job of a worker that was lost was taken back", found.taken_back)
    yield told_times("and, from then, ran again", found.run_again)
    if found.begun_before:
        yield f"    behind what waited: {percentile(found.begun_before, 50)} others were begun before it (median)"
    yield f"programs that ran in a worker when that was killed: {len(story.said('bereaved'))}"
    yield from (f"WRONG: {problem}" for problem in problems[:MOST_SHOWN])
    if len(problems) > MOST_SHOWN:
        yield f"… and {len(problems) - MOST_SHOWN} more"
    yield "verdict: " + (f"{len(problems)} promises broken" if problems else "every promise kept")
