"""Makes stored text safe to print: a terminal must not obey what a subject or an error says."""

from collections.abc import Collection, Sequence

from jobs.sanitise import printable

IDS_SHOWN = 10


def printable_lines(text: str) -> str:
    """As `printable`, but lines stay lines: for tracebacks."""
    return "\n".join(printable(line.expandtabs(4)) for line in text.splitlines())


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def told(what: str, ids: Collection[int]) -> str:
    """A sentence of a result: `Cancelled: 2 jobs (41, 42).`"""
    return f"{what}: {counted(len(ids), 'job')} ({listed(ids)})." if ids else f"{what}: no job."


def listed(ids: Collection[int]) -> str:
    """The first few ids, and how many more there are."""
    shown: Sequence[str] = [str(job_id) for job_id in sorted(ids)[:IDS_SHOWN]]
    more = len(ids) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")
