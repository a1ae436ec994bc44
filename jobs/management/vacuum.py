"""Gives the space of deleted rows back to the disk."""

from dataclasses import dataclass
from pathlib import Path

from django.db import connection


@dataclass(frozen=True)
class Vacuumed:
    bytes_before: int
    bytes_after: int


def vacuum() -> Vacuumed | None:
    """Rewrite the file of SQLite without its empty pages; None where the database does that by itself."""
    if connection.vendor != "sqlite":
        return None
    before = size_on_disk()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        # The rewritten pages are in the log until a checkpoint brings them into the file and cuts it.
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Vacuumed(before, size_on_disk())


def size_on_disk() -> int:
    """The database and its write-ahead log."""
    name = str(connection.settings_dict["NAME"])
    return sum(path.stat().st_size for path in (Path(name), Path(f"{name}-wal")) if path.exists())
