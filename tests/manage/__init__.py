"""Runs `manage.py` as a process of its own, on the database of the test (which must be committed: transaction=True).

A folder, because pytest-django takes whatever folder holds a manage.py for the project and imports from there.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.db import connection

COMMAND = (sys.executable, "-W", "error", str(Path(settings.BASE_DIR) / "manage.py"))
TIMEOUT = 60


def database_url() -> str:
    """The test's database, as DATABASE_URL names it."""
    to = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{to['NAME']}"
    password = f":{quote(to['PASSWORD'], safe='')}" if to["PASSWORD"] else ""
    return f"postgres://{quote(to['USER'], safe='')}{password}@{to['HOST']}:{to['PORT']}/{to['NAME']}"


def environment(**more: str) -> dict[str, str]:
    """A plain one: what decides on colour and width comes from the test alone."""
    left_out = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "DJANGO_COLORS")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "DEBUG": "1", "TERM": "xterm", "DATABASE_URL": database_url(), **more}


def manage(
    *arguments: str, stdin: str | bytes | int = subprocess.DEVNULL, **more: str
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; `more` is added to its environment."""
    given: dict[str, Any] = {"stdin": stdin} if isinstance(stdin, int) else {"input": stdin}
    return subprocess.run(
        [*COMMAND, *arguments], env=environment(**more), capture_output=True, text=True, timeout=TIMEOUT, **given
    )


def start(
    *arguments: str, env: dict[str, str] | None = None, inside: Sequence[str] = (), **options: Any
) -> subprocess.Popen[str]:
    """Start a command; the caller ends it."""
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [*inside, *COMMAND, *arguments], env=environment(**(env or {})), text=True, **{**pipes, **options}
    )
