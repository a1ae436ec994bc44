"""A chaos run: `python -m tests.chaos --seconds 60 --seed 1`; exits with 0 where every promise was kept."""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.actors import wait_until, with_mark
from tests.chaos.checker import CHECKS
from tests.chaos.history import read
from tests.chaos.nemesis import heal_all, plan, torment
from tests.chaos.report import report
from tests.chaos.site import Site
from tests.chaos.story import told_by

DRAINS_WITHIN = 120.0
TIDY_WITHIN = 20.0
UNFINISHED = "SELECT count(*) FROM jobs_job WHERE status IN ('pending', 'running')"
SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
NO_DISK = "  (no file system may be mounted here: scratch was never full)"


def run(folder: Path, seconds: float, seed: int) -> int:
    with Site(folder, seed) as site:
        torment(site, plan(seed, seconds))
        heal_all(site)
        problems = [*drain(site), *leave(site)]
        with site.database() as database:
            story = told_by(database, read(folder))
    problems += [f"{check.__name__}: {problem}" for check in CHECKS for problem in check(story)]
    notes = [] if site.can_fill else [NO_DISK]
    print("\n".join(report(story, seed, seconds, notes, problems)), flush=True)
    return 1 if problems else 0


def drain(site: Site) -> Iterator[str]:
    """Nothing more is wanted, and nothing more breaks: all that waits gets done."""
    if site.actors["clients"].end() != 0:
        yield "the clients did not end in order"
    with site.database() as database:

        def unfinished() -> int:
            row = database.execute(UNFINISHED).fetchone()
            assert row
            return int(str(row[0]))

        if not wait_until(lambda: not unfinished(), DRAINS_WITHIN):
            yield f"{unfinished()} jobs are not done {DRAINS_WITHIN:g} s after all was well again"


def leave(site: Site) -> Iterator[str]:
    """All end in order, and nothing of them stays: no file, no process, no session."""
    if not wait_until(lambda: len(left_in(site.scratch)) <= len(site.workers()), TIDY_WITHIN):
        yield f"scratch of workers that are gone: {left_in(site.scratch)}"
    for name, actor in site.actors.items():
        if (code := actor.end()) != 0:
            yield f"{name} exited with {code}"
    if left := left_in(site.scratch):
        yield f"files were left in the scratch: {left}"
    redis = site.redis.process.pid if site.redis.process else 0
    if not wait_until(lambda: set(with_mark(site.mark)) <= {redis}, TIDY_WITHIN):
        yield f"processes were left: {with_mark(site.mark)}"
    with site.database() as database:
        if not wait_until(lambda: database.execute(SESSIONS).fetchone() == (0,), TIDY_WITHIN):
            yield f"sessions were left in the database: {database.execute(SESSIONS).fetchone()}"


def left_in(scratch: Path) -> list[str]:
    return [str(path.relative_to(scratch)) for kind in ("scratch", "work") for path in (scratch / kind).glob("*")]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__.partition(":")[0])
    parser.add_argument("--seconds", type=float, default=60, help="how long faults happen (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="which faults, and when (default: %(default)s)")
    parser.add_argument("--keep", action="store_true", help="keep logs and history where something is wrong")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="jobyard-chaos-"))
    code = 1
    try:
        code = run(folder, options.seconds, options.seed)
    finally:
        if code and options.keep:
            print(f"logs and history are kept in {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
