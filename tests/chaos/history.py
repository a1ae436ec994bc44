"""What really happened, seen from outside of the database: lines that are only appended, a file for each process."""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

FOLDER = "CHAOS_FOLDER"
ENDLESS = "import time; time.sleep(3600)"  # a program that would outlive the run


@dataclass(frozen=True)
class Line:
    """`start`, `work`, `effect`, `end` of an attempt, `guard` where the database let it through, by its own clock;
    `enqueued`, `cancelled`, `cancel_requested`, `retried` of a client; the name of a fault that took effect, and whom
    it befell; `thawed` for each process that was stopped, `bereaved` for each program whose worker was killed; `well`
    when nothing is broken any more."""

    what: str
    job: int = 0
    attempt: int = 0
    claim: str = ""
    pid: int = 0
    at: float = 0.0
    who: str = ""
    since: float = 0.0  # of an answer: when it was asked for


def now() -> float:
    """The machine's clock, which PostgreSQL here goes by, too; `time.time` may be wrong on purpose."""
    return time.clock_gettime(time.CLOCK_REALTIME)


def append(line: Line) -> None:
    """By one write: whatever kills the process, there is the whole line or nothing of it."""
    text = json.dumps(asdict(line)) + "\n"
    path = Path(os.environ[FOLDER]) / "history" / f"{os.getpid()}.jsonl"
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def note(what: str, ctx: Any) -> None:
    append(Line(what, ctx.job_id, ctx.attempt, str(ctx.claim_id), os.getpid(), now()))


def told(what: str, job_id: int = 0, **more: Any) -> None:
    append(Line(what, job_id, **{"pid": os.getpid(), "at": now(), **more}))


def read(folder: Path) -> list[Line]:
    return sorted(lines_in(folder), key=lambda line: line.at)


def lines_in(folder: Path) -> Iterator[Line]:
    for path in (folder / "history").glob("*.jsonl"):
        for text in path.read_text().splitlines():
            yield Line(**json.loads(text))
