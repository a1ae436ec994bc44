"""A chaos run: `python -m tests.chaos --seconds 60 --seed 1`; exits with 0 where every promise was kept."""

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.chaos.aftermath import aftermath
from tests.chaos.checker import CHECKS
from tests.chaos.history import read
from tests.chaos.nemesis import FULL_DISK, heal_all, plan, torment
from tests.chaos.report import report
from tests.chaos.site import Site
from tests.chaos.story import told_by
from tests.chaos.volume import never_met, too_little

NO_DISK = "  (no file system may be mounted here: scratch was never full)"


def run(folder: Path, seconds: float, seed: int) -> int:
    steps = plan(seed, seconds)
    with Site(folder, seed) as site:
        torment(site, steps)
        heal_all(site)
        problems = list(aftermath(site))
        with site.database() as database:
            story = told_by(database, read(folder))
    (folder / "story.json").write_text(json.dumps(asdict(story)))
    problems += too_little(story, seconds)
    problems += never_met(story, steps, () if site.can_fill else (FULL_DISK,))
    problems += [f"{check.__name__}: {problem}" for check in CHECKS for problem in check(story)]
    notes = [] if site.can_fill else [NO_DISK]
    print("\n".join(report(story, seed, seconds, notes, problems)), flush=True)
    return 1 if problems else 0


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
