"""Runs the suite on each engine and prints the counts: `python -m tests.engines [sqlite|postgres] [for pytest …]`."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

from tests.fault_table import not_among
from tests.postgres import Postgres

ENGINES = ("sqlite", "postgres")
NOT_PASSED = {"failure", "error", "skipped"}
WITH_A_STEP_OF_THEIR_OWN = {"chaos/test_chaos.py::test_every_promise_is_kept_through_a_minute_of_faults"}
SLOWEST = ("--durations=20", "--durations-min=3")  # where the minutes go
PROCESSES = str(min(4, len(os.sched_getaffinity(0)) + 1))  # one more than cores: many tests wait for a process


@contextmanager
def database(engine: str, folder: Path) -> Iterator[dict[str, str]]:
    """The environment that makes the suite use this engine."""
    if engine == "sqlite":
        environment = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        yield {**environment, "TEST_DATABASE_FILE": str(folder / "test.sqlite3")}
    elif os.environ.get("DATABASE_URL", "").startswith("postgres"):
        yield dict(os.environ)
    else:
        with Postgres() as server:  # where it cannot start, this fails: nothing is skipped quietly
            yield {**os.environ, "DATABASE_URL": server.url()}


def run(engine: str, arguments: list[str], ran: set[str]) -> bool:
    """Whether all went well; adds to `ran` which tests passed."""
    with tempfile.TemporaryDirectory(prefix="jobyard-test-") as name:
        folder = Path(name)
        report = folder / "report.xml"
        with database(engine, folder) as environment:
            # A file stays in one process: some fill a large table once for all their tests.
            shared = () if arguments else ("-n", PROCESSES, "--dist", "loadfile", "--no-loadscope-reorder", *SLOWEST)
            command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *shared, *arguments]
            code = subprocess.run(command, env=environment).returncode
        counts = counted(report)
        ran |= passed(report)
    sys.stdout.write(f"{engine}: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped\n")
    sys.stdout.flush()
    skipped_in_ci = bool(os.environ.get("CI")) and counts["skipped"] > 0
    if skipped_in_ci:
        sys.stdout.write("A test was skipped; in CI everything that tests need is installed, so none may be.\n")
    return code == 0 and counts["passed"] > 0 and not skipped_in_ci


def counted(report: Path) -> dict[str, int]:
    if not report.exists():
        return {"passed": 0, "failed": 0, "skipped": 0}
    suite = ElementTree.parse(report).getroot()[0]
    number = {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
    failed = number["failures"] + number["errors"]
    return {"passed": number["tests"] - failed - number["skipped"], "failed": failed, "skipped": number["skipped"]}


def passed(report: Path) -> set[str]:
    """As docs/reliability.md names them: `worker/test_crashes.py::test_…`."""
    cases = ElementTree.parse(report).iter("testcase") if report.exists() else ()
    return {named(case) for case in cases if not {each.tag for each in case} & NOT_PASSED}


def named(case: ElementTree.Element) -> str:
    file = case.get("classname", "").removeprefix("tests.").replace(".", "/")
    return f"{file}.py::{case.get('name', '').partition('[')[0]}"


def every_fault_was_shown(ran: set[str]) -> bool:
    """What was left out here because something is not installed is told; in CI nothing may be."""
    missing = not_among(ran | WITH_A_STEP_OF_THEIR_OWN)
    for number, tests in missing.items():
        sys.stdout.write(f"{number} of docs/reliability.md was not shown to be survived: {', '.join(tests)}\n")
    return not (missing and os.environ.get("CI"))


def main() -> int:
    arguments = sys.argv[1:]
    chosen = [arguments.pop(0)] if arguments and arguments[0] in ENGINES else ENGINES
    ran: set[str] = set()
    went_well = [run(engine, arguments, ran) for engine in chosen]
    if tuple(chosen) == ENGINES and not arguments:
        went_well.append(every_fault_was_shown(ran))
    return 0 if all(went_well) else 1


if __name__ == "__main__":
    sys.exit(main())
