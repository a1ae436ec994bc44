"""Where and on what a run took place: without it a figure says nothing."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from typing import Any

from benchmarks.databases import Databases

SETTINGS = (
    "server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size", "jit",
)  # fmt: skip
MEASURED = ("jobs", "benchmarks", "project", "tests/postgres.py")


def describe(databases: Databases) -> dict[str, Any]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": git("rev-parse", "--short", "HEAD") or "unknown",
        "changed_since_commit": bool(git("status", "--porcelain", "--", *MEASURED)),
        "machine": {
            "cpus": os.cpu_count(),
            "python": platform.python_version(),
            "kernel": platform.release(),
            "load_at_the_start": load(),
        },
        "postgres": {name: databases.administer(f"SHOW {name}") for name in SETTINGS},
    }


def load() -> list[float]:
    """Processes that wanted to run, over 1, 5 and 15 minutes; above the number of CPUs, times are noise."""
    return [round(average, 2) for average in os.getloadavg()]


def git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return ""  # not a checkout, or no git
    return done.stdout.strip()
