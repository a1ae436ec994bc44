"""Log lines for machines and people: one line for each event whatever it says, as key=value or as JSON.

`logger.info(Event("started", job=7))` is `started job=7` to who reads it, and in JSON each field is a key.

`"formatters": {"line": {"()": "jobs.logs.formatter"}}` in LOGGING takes the one that JOBS_LOG_FORMAT names.
"""

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from math import isfinite

from django.core.exceptions import ImproperlyConfigured

from jobs.conf import conf
from jobs.sanitise import Redactor, clean_text, cut_middle

# What a line says besides its message, where the record has it. Nothing else: an extra may be anybody's secret.
EXTRAS = ("job", "attempt", "kind")  # and the worker, which `signature` knows
PROSE = frozenset(("error", "reason", "step", "why"))  # fields that are sentences: in the text of an event, in quotes
LONGEST = 32 * 1024  # characters of one value
SHORT = 200  # characters: as names have, which come again and again
# Control characters, line and paragraph separators, what turns the direction of writing, and lone surrogates.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
BARE = re.compile(r"[^\s\"'=\\\[\]{}]+")
SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

Value = str | int | float | list[int]


class Event(str):
    """What a line says of something that happened: its name and its fields. To whoever knows no better it is a text."""

    __slots__ = ("fields", "name")
    name: str
    fields: dict[str, object]

    def __new__(cls, name: str, /, **fields: object) -> "Event":
        told = [f" {key}={value!r}" if key in PROSE else f" {key}={value}" for key, value in fields.items()]
        event = super().__new__(cls, name + "".join(told))
        event.name, event.fields = name, fields
        return event


class Signature:
    """Which worker this process is, once that is known: said by each of its lines that names none."""

    def __init__(self) -> None:
        self.worker: Callable[[], str] = str

    @contextmanager
    def of(self, worker: Callable[[], str]) -> Iterator[None]:
        self.worker = worker
        try:
            yield
        finally:
            self.worker = str


signature = Signature()


class LineFormatter(logging.Formatter):
    """What both formats say of a record, in order: time, level, logger, message, extras, exception, stack.

    Without secrets: those of the environment as it is now, and what looks like one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._redact = Redactor(os.environ)
        self._clean_name = lru_cache(1000)(self.clean)

    def format(self, record: logging.LogRecord) -> str:
        return self.line(dict(self.values(record)))

    def line(self, values: dict[str, Value]) -> str:
        raise NotImplementedError

    def values(self, record: logging.LogRecord) -> Iterator[tuple[str, Value]]:
        yield "time", time_of(record)
        yield "level", record.levelname
        yield "logger", record.name
        yield from self.told(record)
        for name in EXTRAS:
            value = getattr(record, name, None)
            if value not in (None, ""):
                yield name, self.value(value)
        if worker := getattr(record, "worker", "") or signature.worker():
            yield "worker", self.value(worker)
        if record.exc_info or record.exc_text:
            yield "exception", self.exception_of(record)
        if record.stack_info:
            yield "stack", self.clean(record.stack_info)

    def told(self, record: logging.LogRecord) -> Iterator[tuple[str, Value]]:
        yield "message", self.clean(message_of(record))

    def value(self, given: object) -> Value:
        """Numbers as they are, all else as text."""
        if type(given) is str and len(given) <= SHORT:
            return self._clean_name(given)
        if type(given) is int or (type(given) is float and isfinite(given)):
            return given
        if type(given) is list and all(type(each) is int for each in given):
            return given
        return self.clean(given)

    def clean(self, text: object) -> str:
        """Redacted before it is cut: half a secret is one, too."""
        return cut_middle(self._redact(clean_text(text, 10 * LONGEST)), LONGEST)

    def exception_of(self, record: logging.LogRecord) -> str:
        """The traceback: a failing call shows its source, and its message more."""
        try:
            text = self.formatException(record.exc_info) if record.exc_info else record.exc_text or ""
        except Exception as error:  # an exception may break whoever prints it
            text = f"<exception is not readable: {type(error).__name__}>"
        return self.clean(text)


class KeyValueFormatter(LineFormatter):
    """`time=2026-05-01T10:00:00.000Z level=INFO logger=jobs.worker message="job completed" job=7`"""

    def line(self, values: dict[str, Value]) -> str:
        return " ".join(f"{name}={quoted(value)}" for name, value in values.items())


class JsonFormatter(LineFormatter):
    """One JSON object a line, with the same names; of an event, with a key for each of its fields."""

    def told(self, record: logging.LogRecord) -> Iterator[tuple[str, Value]]:
        event = record.msg
        if not isinstance(event, Event):
            yield from super().told(record)
            return
        yield "message", self.value(event.name)
        for name, value in event.fields.items():
            if value is not None:
                yield name, self.value(value)

    def line(self, values: dict[str, Value]) -> str:
        return UNSAFE.sub(json_escape, json.dumps(values, ensure_ascii=False))


class StderrHandler(logging.Handler):
    """Writes to whatever standard error is now, so that lines do not tear a live display apart."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            sys.stderr.write(self.format(record) + "\n")
        except Exception:  # a closed terminal must not end the thread that wanted to say something
            self.handleError(record)


def formatter() -> logging.Formatter:
    """The formatter that JOBS_LOG_FORMAT names."""
    try:
        return JsonFormatter() if conf.LOG_FORMAT == "json" else KeyValueFormatter()
    except ImproperlyConfigured:  # logging is set up before the system check that says what is wrong
        return KeyValueFormatter()


def time_of(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception as error:  # arguments that do not fit, or cannot be printed: say what can be said
        return f"{clean_text(record.msg, LONGEST)} <its arguments do not fit: {type(error).__name__}>"


def quoted(value: Value) -> str:
    text = str(value)
    if BARE.fullmatch(text) and not UNSAFE.search(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + UNSAFE.sub(escape, escaped) + '"'


def escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return SHORT_ESCAPES.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")


def json_escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
