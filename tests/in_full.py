"""Statements as they are: none is kept and called by name while a test looks at what is sent."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from django.db import connection

from jobs.lifecycle.sql import kept


@contextmanager
def sent_in_full() -> Iterator[None]:
    if connection.vendor == "postgresql" and (shelf := kept.shelves.get(connection.connection)):
        shelf.forget()
    with patch.object(kept, "WORTH_KEEPING", float("inf")):
        yield
