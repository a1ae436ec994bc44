"""Runs mutants, each in a copy of the tree of its own, and tells which test noticed it."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import POSTGRES, DoesNotApply, Mutant
from tests.postgres import Postgres

ROOT = Path(__file__).resolve().parent.parent.parent
# What is compiled comes along: it is good for every file that is not changed, and to compile all takes seconds.
NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "var", "media", "staticfiles", "docs", ".*_cache")
PYTEST = (sys.executable, "-m", "pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider")
AT_ONCE = 2
TIMEOUT, TIMEOUT_OF_ALL = 300, 1800  # seconds, for the tests of one mutant and for those of all
TESTS_FAILED = 1  # pytest's exit code; any other one than this and 0 means that it could not run them


@dataclass(frozen=True)
class Verdict:
    mutant: str
    killed: bool
    by: str
    seconds: float


def run_all(mutants: Sequence[Mutant]) -> Iterator[Verdict]:
    """First the tests on the tree as it is: red must mean the mutation. Then the mutants, some at a time."""
    with Postgres() as server, copy_of(ROOT) as original, ThreadPoolExecutor(AT_ONCE) as pool:
        bench = Bench(original, server)
        yield from pool.map(lambda engine: bench.baseline(engine, mutants), sorted({m.engine for m in mutants}))
        yield from pool.map(bench.judge, mutants, range(len(mutants)))


@contextmanager
def copy_of(original: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="jobyard-mutant-") as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(original, tree, ignore=NOT_COPIED)
        yield tree


class Bench:
    """Copies of one tree, taken at the beginning: whoever edits meanwhile is not in the way. One database each."""

    def __init__(self, original: Path, server: Postgres) -> None:
        self.original, self.server = original, server

    def baseline(self, engine: str, mutants: Sequence[Mutant]) -> Verdict:
        tests = sorted({test for mutant in mutants if mutant.engine == engine for test in mutant.tests})
        began = time.monotonic()
        environment = self.environment(engine, self.original, f"baseline_{engine}")
        code, red = run_tests(self.original, tests, environment, TIMEOUT_OF_ALL)
        by = "green, as it should be" if code == 0 else f"red without a mutation: {red}"
        return Verdict(f"(nothing changed, {engine})", code == 0, by, time.monotonic() - began)

    def judge(self, mutant: Mutant, number: int) -> Verdict:
        began = time.monotonic()
        with copy_of(self.original) as tree:
            try:
                mutant.apply(tree)
            except DoesNotApply as error:
                return Verdict(mutant.name, False, f"does not apply: {error}", 0)
            environment = self.environment(mutant.engine, tree, f"mutant_{number}")
            code, red = run_tests(tree, ["-x", *mutant.tests], environment)
        return Verdict(mutant.name, code == TESTS_FAILED, red, time.monotonic() - began)

    def environment(self, engine: str, tree: Path, database: str) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        # The path first, or the tests would import the tree that is installed.
        ours = {"DEBUG": "1", "PYTHONPATH": str(tree), "TEST_DATABASE_FILE": str(tree.parent / "test.sqlite3")}
        return {**inherited, **ours} | ({"DATABASE_URL": self.server.url(database)} if engine == POSTGRES else {})


def run_tests(
    tree: Path, arguments: Sequence[str], environment: dict[str, str], timeout: float = TIMEOUT
) -> tuple[int, str]:
    """The exit code of pytest, and the first test that was red."""
    try:
        done = subprocess.run(
            [*PYTEST, *arguments], cwd=tree, env=environment, capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return -1, f"the tests did not end within {timeout:.0f} s, which proves nothing"
    return done.returncode, red_test(done.returncode, done.stdout + done.stderr)


def red_test(code: int, output: str) -> str:
    if code == 0:
        return "SURVIVED"
    for line in output.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0].removeprefix("tests/")
    return f"pytest could not run (exit code {code}): {output.strip()[-300:]}"
