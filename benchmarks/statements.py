"""The statements that a call sends, with the time each took and a short name to know it by."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection

from tests.in_full import sent_in_full

LOGGER = logging.getLogger("django.db.backends")
TARGET = re.compile(r'(?:FROM|INTO|UPDATE) "?jobs_(\w+)"?')


@dataclass(frozen=True)
class Statement:
    sql: str
    seconds: float

    @property
    def short(self) -> str:
        """`SELECT job`: the verb and the first table it names."""
        verb = self.sql.strip(" (\n").split(None, 1)[0].rstrip(";")
        target = TARGET.search(self.sql)
        return f"{verb} {target.group(1)}" if target else self.sql.strip()[:40]


class Recorder(logging.Handler):
    """Django logs each statement with its exact duration; BEGIN and COMMIT, too."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.statements: list[Statement] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.statements.append(Statement(record.__dict__["sql"], record.__dict__["duration"]))


def recorded(call: Callable[[], object]) -> list[Statement]:
    """Run `call` and return the statements it sent."""
    recorder, level = Recorder(), LOGGER.level
    LOGGER.addHandler(recorder)
    LOGGER.setLevel(logging.DEBUG)
    LOGGER.propagate = False
    connection.force_debug_cursor = True
    try:
        with sent_in_full():
            call()
    finally:
        connection.force_debug_cursor = False
        LOGGER.propagate = True
        LOGGER.setLevel(level)
        LOGGER.removeHandler(recorder)
    return recorder.statements
