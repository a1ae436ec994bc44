"""Runs the mutants and prints the table; the exit code is 1 if one survives or no longer applies."""

import sys
from importlib import import_module
from pathlib import Path

from tests.mutants.mutant import Mutant
from tests.mutants.run import run_all

# Each module of this folder that has MUTANTS.
NAMES = [file.stem for file in sorted(Path(__file__).parent.glob("[a-z]*.py"))]
MODULES = [import_module(f"tests.mutants.{name}") for name in NAMES]
ALL: list[Mutant] = [mutant for module in MODULES for mutant in getattr(module, "MUTANTS", ())]


def main(words: list[str]) -> int:
    """With words: only mutants that have one of them in their name."""
    chosen = [mutant for mutant in ALL if not words or any(word in mutant.name for word in words)]
    width = max(len(mutant.name) for mutant in ALL)
    failed = 0
    for verdict in run_all(chosen):
        failed += not verdict.killed
        mark = "ok " if verdict.killed else "BAD"
        sys.stdout.write(f"{mark} {verdict.mutant:<{width}} {verdict.seconds:5.1f} s  {verdict.by}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(chosen)} mutants, {failed} not as they should be\n")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
