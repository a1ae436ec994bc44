"""What `benchmarks.load` saw, as tables."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.numbers import number, percentile

if TYPE_CHECKING:
    from benchmarks.load import Seen
    from benchmarks.visitors import Visitors

WINDOWS = 10


def table(seen: "Seen", folder: Path, visitors: "Visitors") -> Iterator[str]:
    claims = sorted(tuple(json.loads(line)) for path in folder.glob("*.jsonl") for line in path.open())
    yield from over_time(seen, [claim for claim in claims if claim[2]])
    yield ""
    yield from sizes(seen)
    yield ""
    yield from pages(visitors)


def over_time(seen: "Seen", claims: Sequence[tuple[float, float, int]]) -> Iterator[str]:
    begin, end = claims[0][0], claims[-1][0]
    jobs, length = sum(claim[2] for claim in claims), (end - begin) / WINDOWS
    yield f"{jobs:,} jobs in {end - begin:.0f} s: {jobs / (end - begin):,.0f}/s by {len(claims):,} claims\n"
    yield "| until | jobs/s | claim p50 | claim p99 | slowest | memory of the claimers | waiting | sessions | |"
    yield "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    for index in range(WINDOWS):
        low, high = begin + index * length, begin + (index + 1) * length
        within = [claim for claim in claims if low <= claim[0] <= high]
        looks = [each for each in seen.looks if low <= each[0] <= high] or seen.looks[-1:]
        idle = "a session idle in its transaction" if seen.idle_from < high and seen.idle_until > low else ""
        if within:
            p50, p99, most = (1e3 * percentile([claim[1] for claim in within], share) for share in (50, 99, 100))
            rate, (_, memory, waiting, sessions) = sum(claim[2] for claim in within) / length, looks[-1]
            yield (
                f"| {high - begin:.0f} s | {rate:,.0f} | {number(p50)} ms | {number(p99)} ms | {number(most)} ms | "
                f"{memory:,.0f} MiB | {waiting:,} | {sessions} | {idle} |"
            )


def sizes(seen: "Seen") -> Iterator[str]:
    yield "| MiB of table + indexes (dead rows) | " + " | ".join(seen.sizes) + " |"
    yield "| --- |" + " ---: |" * len(seen.sizes)
    for index, (name, *_) in enumerate(seen.sizes["before"]):
        told = [found[index] for found in seen.sizes.values()]
        cells = (f"{rows / 2**20:,.0f} + {indexes / 2**20:,.0f} ({dead:,})" for _, rows, indexes, dead in told)
        yield f"| {name} | " + " | ".join(cells) + " |"


def pages(visitors: "Visitors") -> Iterator[str]:
    yield f"{visitors.readers} readers of streams were told {visitors.frames:,} times\n"
    yield "| page | visits | p50 | slowest |"
    yield "| --- | ---: | ---: | ---: |"
    for page, times in sorted(visitors.clicks.items()):
        p50, most = 1e3 * percentile(times, 50), 1e3 * max(times)
        yield f"| `{page}` | {len(times)} | {number(p50)} ms | {number(most)} ms |"
    yield f"\nrefused or broken: {len(visitors.refused)} {visitors.refused[:5]}"
