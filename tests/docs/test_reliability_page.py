"""Every fault has its id, its promise, and tests that exist; that they ran, `tests.engines` sees to."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tests.fault_table import named_by_fault, not_among, rows

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ("", "postgres://nobody@127.0.0.1:1/none")  # nothing is run: nobody connects


def collected(files: list[str], database: str) -> set[str]:
    """What pytest would run of these files on an engine."""
    of_this_run = ("DATABASE_URL", "PYTEST_XDIST_WORKER")
    environment = {name: value for name, value in os.environ.items() if name not in of_this_run}
    environment |= {"DATABASE_URL": database} if database else {}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    return {line.partition("[")[0].removeprefix("tests/") for line in done.stdout.splitlines() if "::" in line}


def test_ids_are_numbered_without_a_gap():
    assert [number for number, *_ in rows()] == [f"F{number:02}" for number in range(1, len(rows()) + 1)]
    assert len(rows()) >= 40


@pytest.mark.once
def test_every_fault_has_tests_and_they_are_there():
    named = named_by_fault()
    assert all(named.values())
    files = sorted({f"tests/{test.partition('::')[0]}" for tests in named.values() for test in tests})
    with ThreadPoolExecutor() as pool:
        there = set().union(*pool.map(partial(collected, files), ENGINES))
    assert not_among(there) == {}
