"""An append-only history that every execution writes, so that a test sees from outside what really ran."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from jobs.handlers.context import Context


@dataclass(frozen=True)
class Line:
    what: str
    job: int
    attempt: int
    claim: str
    pid: int


def note(history: str, what: str, ctx: Context) -> None:
    """One line, by one write: lines of several processes do not mix."""
    line = json.dumps(asdict(Line(what, ctx.job_id, ctx.attempt, str(ctx.claim_id), os.getpid()))) + "\n"
    file = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


def read(history: Path) -> list[Line]:
    lines = history.read_text().splitlines() if history.exists() else []
    return [Line(**json.loads(line)) for line in lines]
