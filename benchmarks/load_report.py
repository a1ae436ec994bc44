"""What `benchmarks.load` saw, as figures and as tables."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.findings import Figure, Findings
from benchmarks.load_seen import Look, Seen
from benchmarks.measure import Spread
from benchmarks.numbers import number, percentile

if TYPE_CHECKING:
    from benchmarks.visitors import Visitors

WINDOWS = 10
PERCENTILES = (50, 99, 100)
Claim = tuple[float, float, int]  # when it was answered, after how many seconds, with how many jobs


@dataclass(frozen=True)
class Window:
    """A tenth of the run. The memory is what was resident at its last look, in MiB."""

    until: float
    jobs_per_second: float
    claim_ms: list[float]  # by PERCENTILES
    memory: dict[str, float]
    waiting: int
    sessions: int
    idle: bool


def claims_of(folder: Path) -> list[Claim]:
    return sorted(tuple(json.loads(line)) for path in folder.glob("*.jsonl") for line in path.open())


def findings(seen: Seen, claims: Sequence[Claim], visitors: "Visitors", jobs: int) -> Findings:
    useful = [claim for claim in claims if claim[2]]
    empty = [claim[1] for claim in claims if not claim[2]]
    windows, failures = list(windows_of(seen, useful)), [*undone(seen, jobs), *visitors.failures]
    found = Findings("A long day")
    found.figures += figures(seen, useful)
    found.figures.append(Figure("failures", Spread.of([float(len(failures))]), "", at_most=0))
    found.samples |= {"windows": [asdict(each) for each in windows], "failures": failures, "sizes": seen.sizes}
    found.samples["pages_ms"] = {page: milliseconds(times) for page, times in visitors.clicks.items()}
    found.lines += [
        *over_time(useful, empty, windows), "", *sizes(seen), "", *pages(visitors), "", *told_of(failures)
    ]  # fmt: skip
    return found


def undone(seen: Seen, jobs: int) -> Iterator[str]:
    if seen.done != jobs:
        yield f"{seen.done:,} of {jobs:,} jobs were completed by their first attempt"


def figures(seen: Seen, claims: Sequence[Claim]) -> Iterator[Figure]:
    rate = sum(claim[2] for claim in claims) / (claims[-1][0] - claims[0][0])
    yield Figure("jobs", Spread.of([rate]), "/s")
    for percent, value in zip(PERCENTILES, milliseconds([claim[1] for claim in claims]), strict=True):
        yield Figure("slowest claim" if percent == 100 else f"claim p{percent}", Spread.of([value]), "ms")
    for name in seen.looks[0].memory:
        yield Figure(f"memory of the {name}", Spread.of([each.memory[name] for each in seen.looks]), "MiB")


def milliseconds(seconds: Sequence[float]) -> list[float]:
    return [round(1e3 * percentile(seconds, percent), 3) for percent in PERCENTILES]


def windows_of(seen: Seen, claims: Sequence[Claim]) -> Iterator[Window]:
    begin, end = claims[0][0], claims[-1][0]
    length = (end - begin) / WINDOWS
    for index in range(WINDOWS):
        low, high = begin + index * length, begin + (index + 1) * length
        within = [claim for claim in claims if low <= claim[0] <= high]
        if within:
            last = last_look(seen, low, high)
            yield Window(
                until=high - begin,
                jobs_per_second=sum(claim[2] for claim in within) / length,
                claim_ms=milliseconds([claim[1] for claim in within]),
                memory=last.memory,
                waiting=last.waiting,
                sessions=last.sessions,
                idle=seen.idle_from < high and seen.idle_until > low,
            )


def last_look(seen: Seen, low: float, high: float) -> Look:
    return ([each for each in seen.looks if low <= each.at <= high] or seen.looks)[-1]


def over_time(claims: Sequence[Claim], empty: Sequence[float], windows: Sequence[Window]) -> Iterator[str]:
    jobs, seconds, names = sum(claim[2] for claim in claims), claims[-1][0] - claims[0][0], list(windows[0].memory)
    yield f"{jobs:,} jobs in {seconds:.0f} s: {jobs / seconds:,.0f}/s by {len(claims):,} claims, whose times these are."
    yield f"{len(empty):,} more claims found nothing" + (
        f", p99 {number(milliseconds(empty)[1])} ms." if empty else "."
    )
    yield ""
    memory = " | ".join(f"memory of the {name}" for name in names)
    yield f"| until | jobs/s | claim p50 | claim p99 | slowest | {memory} | waiting | sessions | |"
    yield "| ---: | ---: | ---: | ---: | ---: |" + " ---: |" * len(names) + " ---: | ---: | --- |"
    for each in windows:
        times = " | ".join(f"{number(value)} ms" for value in each.claim_ms)
        memory = " | ".join(f"{each.memory[name]:,.0f} MiB" for name in names)
        idle = "a session idle in its transaction" if each.idle else ""
        yield (
            f"| {each.until:.0f} s | {each.jobs_per_second:,.0f} | {times} | {memory} | "
            f"{each.waiting:,} | {each.sessions} | {idle} |"
        )


def sizes(seen: Seen) -> Iterator[str]:
    yield "| MiB of table + indexes (dead rows) | " + " | ".join(seen.sizes) + " |"
    yield "| --- |" + " ---: |" * len(seen.sizes)
    for index, (name, *_) in enumerate(seen.sizes["before"]):
        told = [found[index] for found in seen.sizes.values()]
        cells = (f"{rows / 2**20:,.0f} + {indexes / 2**20:,.0f} ({dead:,})" for _, rows, indexes, dead in told)
        yield f"| {name} | " + " | ".join(cells) + " |"


def pages(visitors: "Visitors") -> Iterator[str]:
    ended = ", ".join(f"{times} {reason}" for reason, times in sorted(visitors.ended.items())) or "none"
    yield f"{visitors.readers} readers of streams were told {visitors.frames:,} times; streams that ended: {ended}"
    yield ""
    yield "| page | visits | p50 | slowest |"
    yield "| --- | ---: | ---: | ---: |"
    for page, times in sorted(visitors.clicks.items()):
        p50, _, most = milliseconds(times)
        yield f"| `{page}` | {len(times)} | {number(p50)} ms | {number(most)} ms |"


def told_of(failures: Sequence[str]) -> Iterator[str]:
    yield f"failures: {len(failures)}"
    for failure, same in groupby(sorted(failures)):
        yield f"- {len(list(same))} × {failure}"
