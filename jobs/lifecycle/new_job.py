"""A job to be: what `enqueue` is told, checked once for Python, the command line and HTTP alike."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, NamedTuple

from jobs import tracing
from jobs.conf import conf
from jobs.exceptions import InvalidInput
from jobs.handlers.registry import KIND_NAME, Kind, registry
from jobs.lifecycle.after import check_after
from jobs.lifecycle.payload import unstorable
from jobs.lifecycle.retry_policy import Backoff
from jobs.lifecycle.sql.insert_jobs import TERMS
from jobs.states import Accelerator, OnParentFailure, Unique
from jobs.web_address import problem_with

QUEUE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
MICROSECOND = timedelta(microseconds=1)
PRIORITIES = range(-100, 101)
MAX_ATTEMPTS = 1000
BACKOFF_LENGTH = 60
SHORTEST_RUNTIME, LONGEST_RUNTIME = 0.001, 10 * 365 * 86_400


@dataclass(slots=True)
class NewJob:
    """What to do and how; what is None comes from the kind, then from the settings."""

    kind: str
    payload: Mapping[str, Any] = field(default_factory=dict)
    queue: str | None = None
    priority: int = 0
    subject: str = ""
    scope: str = ""
    dedupe_key: str | None = None
    unique: str | None = None
    force: bool = False
    run_after: datetime | None = None
    max_attempts: int | None = None
    backoff: str | None = None
    max_runtime: float | None = None
    webhook_url: str | None = None
    accelerator: str | None = None
    limit_key: str | None = None
    size: int = 0
    after: Sequence[Any] = ()  # jobs that must end first: ids, or what `enqueue` answered
    on_parent_failure: str = OnParentFailure.CANCEL
    allow_unknown: bool = False


@dataclass(frozen=True)
class Terms:
    """What has passed every check, and what many jobs have in common."""

    kind: str
    queue: str
    priority: int
    unique: str | None
    force: bool
    max_attempts: int
    backoff: str
    lease: timedelta
    max_runtime: timedelta | None
    webhook_url: str
    accelerator: str
    limit_key: str | Callable[[Any], str]  # of the kind
    after: tuple[int, ...] = ()
    on_parent_failure: str = OnParentFailure.CANCEL
    trace_context: str | None = field(default_factory=tracing.traceparent)

    @cached_property
    def as_json(self) -> str:
        """As they are stored: many jobs have the same."""
        values = (getattr(self, name) for name in TERMS)
        return json.dumps([value // MICROSECOND if isinstance(value, timedelta) else value for value in values])

    @property
    def waits_for(self) -> int:
        return len(self.after)

    @property
    def unique_ever(self) -> bool:
        return self.unique == Unique.EVER


class CheckedJob(NamedTuple):
    """A NewJob that passed every check, ready to be inserted."""

    terms: Terms
    payload: str  # as JSON
    subject: str = ""
    scope: str = ""
    dedupe_key: str | None = None
    limit_key: str = ""
    size: int = 0
    run_after: datetime | None = None

    @property
    def queue(self) -> str:
        return self.terms.queue

    @property
    def priority(self) -> int:
        return self.terms.priority

    @property
    def force(self) -> bool:
        return self.terms.force


def check_terms(new: NewJob) -> Terms:
    kind = check_kind(new.kind, new.allow_unknown)
    return Terms(
        kind=new.kind,
        queue=check_queue(kind.queue if new.queue is None else new.queue),
        priority=check_priority(new.priority),
        unique=check_choice("unique", new.unique, Unique) if new.unique else None,
        force=bool(new.force),
        max_attempts=check_attempts(first(new.max_attempts, kind.max_attempts, conf.MAX_ATTEMPTS)),
        backoff=check_backoff(first(new.backoff, kind.backoff, "")),
        lease=timedelta(seconds=first(kind.lease, conf.CLAIM_DURATION)),
        max_runtime=check_runtime(first(new.max_runtime, kind.max_runtime, conf.MAX_RUNTIME)),
        webhook_url=check_url(first(new.webhook_url, kind.webhook_url, conf.WEBHOOK_URL)),
        accelerator=check_choice("accelerator", first(new.accelerator, kind.accelerator), Accelerator),
        limit_key=kind.limit_key,
        after=check_after(new.after),
        on_parent_failure=check_choice("on_parent_failure", new.on_parent_failure, OnParentFailure),
    )


def first(*values: Any) -> Any:
    """The first that is not None."""
    return next((value for value in values if value is not None), None)


def check_kind(name: Any, allow_unknown: bool) -> Kind:
    if not isinstance(name, str) or not KIND_NAME.fullmatch(name):
        raise InvalidInput(f"The kind {name!r} is not a name of letters, digits, '.', '_' and '-', at most 100 long.")
    return (registry.find(name) if allow_unknown else registry.get(name)) or Kind(name)


def check_queue(name: Any) -> str:
    if not isinstance(name, str) or not QUEUE_NAME.fullmatch(name):
        raise InvalidInput(
            f"The queue name {name!r} is not valid: use 1 to 100 letters, digits, '.', '_' and '-', "
            "beginning with a letter or digit."
        )
    return name


def check_priority(priority: Any) -> int:
    if isinstance(priority, bool) or not isinstance(priority, int) or priority not in PRIORITIES:
        raise InvalidInput(f"The priority {priority!r} is not a whole number from -100 to 100 (higher goes first).")
    return priority


def check_attempts(attempts: Any) -> int:
    if isinstance(attempts, bool) or not isinstance(attempts, int) or not 1 <= attempts <= MAX_ATTEMPTS:
        raise InvalidInput(f"max_attempts is {attempts!r}, but it must be a whole number from 1 to {MAX_ATTEMPTS}.")
    return attempts


def check_text(name: str, text: Any, limit: int) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"The {name} must be text, not {type(text).__name__}.")
    if len(text) > limit:
        raise InvalidInput(f"The {name} has {len(text)} characters; at most {limit} are allowed.")
    if problem := unstorable(text):
        raise InvalidInput(f"The {name} contains {problem}, which a database cannot store.")
    return text


def limit_key_of(new: NewJob, terms: Terms) -> str:
    """What is said, or what the kind says; a function of it is given the payload."""
    if new.limit_key is not None:
        return check_text("limit key", new.limit_key, 200)
    if not callable(terms.limit_key):
        return terms.limit_key
    try:
        made = str(terms.limit_key(new.payload))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(
            f"The limit_key of the kind {terms.kind!r} cannot be made of this payload: {type(error).__name__}: {error}."
        ) from error
    return check_text("limit key", made, 200)


def check_size(size: Any) -> int:
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 2**63:
        raise InvalidInput(f"The size {size!r} is not a number of bytes, zero or more.")
    return size


def check_key(key: Any) -> str | None:
    if key is None:
        return None
    if key == "":
        raise InvalidInput("The dedupe key is empty; leave it out where there is none.")
    return check_text("dedupe key", key, 200)


def check_moment(moment: Any) -> datetime | None:
    if moment is None:
        return None
    if not isinstance(moment, datetime):
        raise InvalidInput(f"run_after must be a datetime, not {type(moment).__name__}.")
    if moment.utcoffset() is None:
        raise InvalidInput(
            f"run_after ({moment.isoformat()}) has no time zone; use django.utils.timezone.now() "
            "or a datetime with tzinfo."
        )
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"run_after ({moment.isoformat()}) is outside the years 1 to 9999 in UTC.") from None


def check_backoff(text: Any) -> str:
    if not isinstance(text, str):
        raise InvalidInput(f"The backoff must be text such as 'exponential:10:3600', not {type(text).__name__}.")
    if text:
        Backoff.parse(text)
    if len(text) > BACKOFF_LENGTH:
        raise InvalidInput(f"The backoff has {len(text)} characters; at most {BACKOFF_LENGTH} are allowed.")
    return text


def check_runtime(seconds: Any) -> timedelta | None:
    if seconds is None:
        return None
    good = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if not good or not SHORTEST_RUNTIME <= seconds <= LONGEST_RUNTIME:
        raise InvalidInput(
            f"max_runtime is {seconds!r}, but it must be a number of seconds from {SHORTEST_RUNTIME} to "
            f"{LONGEST_RUNTIME} (ten years)."
        )
    return timedelta(seconds=seconds)


def check_url(url: Any) -> str:
    check_text("webhook URL", url, 500)
    if url and (problem := problem_with(url, conf.web_policy)):
        raise InvalidInput(f"The webhook URL {url!r} {problem}.")
    return str(url)


def check_choice(name: str, value: Any, choices: type[Any]) -> str:
    if value not in [choice.value for choice in choices]:
        allowed = ", ".join(repr(choice.value) for choice in choices)
        raise InvalidInput(f"{name} is {value!r}, but it must be one of {allowed}.")
    return str(value)
