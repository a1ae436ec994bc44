"""The table of docs/reliability.md: each fault, what is promised then, and the tests that show it."""

import re
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reliability.md"
ROW = re.compile(r"^\| (F\d\d) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str, str]]:
    """Id, fault, promise, tests."""
    return ROW.findall(PAGE.read_text())


def named_by_fault() -> dict[str, set[str]]:
    """As the page names them: `worker/test_crashes.py::test_…`."""
    return {number: set(re.findall(r"`([^`]+)`", tests)) for number, _, _, tests in rows()}


def not_among(ran: Iterable[str]) -> dict[str, list[str]]:
    """By fault, the tests that are not among these."""
    known = set(ran)
    return {number: sorted(tests - known) for number, tests in named_by_fault().items() if tests - known}
