"""The checker: what is to become a job is refused with one clear sentence, or ready to be inserted.

What many have in common is looked at once, also in calls that come one after the other.
"""

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter, is_
from time import monotonic
from typing import Any

from django.core.signals import setting_changed

from jobs import tracing
from jobs.conf import conf
from jobs.handlers.arguments import check_arguments
from jobs.handlers.keys import derived_key
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle.new_job import (
    CheckedJob,
    NewJob,
    Terms,
    check_key,
    check_moment,
    check_size,
    check_terms,
    check_text,
    limit_key_of,
)
from jobs.lifecycle.payload import check_payload

OF_TERMS = attrgetter(
    "kind", "queue", "priority", "unique", "force", "max_attempts", "backoff", "max_runtime", "webhook_url",
    "accelerator", "after", "on_parent_failure", "allow_unknown",
)  # fmt: skip
OF_ITS_OWN = attrgetter("subject", "scope", "dedupe_key", "limit_key", "size", "run_after")
NOTHING_OF_ITS_OWN = OF_ITS_OWN(NewJob(""))
KEPT_FOR = 1.0  # seconds: then the settings are read again


class Checker:
    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Kind | None, Terms]] = {}
        self._largest = conf.MAX_PAYLOAD
        self._last: tuple[tuple[Any, ...], Kind | None, Terms | None] = (), None, None

    def check(self, new: NewJob) -> CheckedJob:
        kind = self.kind_of(new)
        terms = self.terms_of(new, kind)
        payload = self.check_payload(new, kind, new.payload)
        if self.has_payload_alone(new, terms):
            return CheckedJob(terms, payload)
        return CheckedJob(
            terms,
            payload,
            check_text("subject", new.subject, 500),
            check_text("scope", new.scope, 200),
            check_key(new.dedupe_key) or (derived_key(new.kind, new.payload) if terms.unique else None),
            limit_key_of(new, terms),
            check_size(new.size),
            check_moment(new.run_after),
        )

    def checking_payloads(self, new: NewJob) -> Callable[[Any], CheckedJob]:
        """What checks jobs that are as `new` is but for their payloads."""
        kind = self.kind_of(new)
        terms = self.terms_of(new, kind)
        if not self.has_payload_alone(new, terms):
            return lambda payload: self.check(replace(new, payload=payload))
        return lambda payload: CheckedJob(terms, self.check_payload(new, kind, payload))

    def check_payload(self, new: NewJob, kind: Kind | None, payload: Any) -> str:
        """As JSON, if both databases can store it and the handler takes it."""
        text = check_payload(payload, self._largest)
        if not new.allow_unknown:  # then its handler is another machine's, whatever is registered here
            check_arguments(kind or registry.get(new.kind), payload)
        return text

    def has_payload_alone(self, new: NewJob, terms: Terms) -> bool:
        """Whether it says nothing else of its own, and nothing is made of its payload."""
        return OF_ITS_OWN(new) == NOTHING_OF_ITS_OWN and not terms.unique and terms.limit_key == ""

    def kind_of(self, new: NewJob) -> Kind | None:
        try:
            return registry.find(new.kind)
        except TypeError:  # a list, or the like: the check of its terms says what is wrong with it
            return None

    def terms_of(self, new: NewJob, kind: Kind | None) -> Terms:
        if type(new.after) is not tuple:  # it may be another one the next time, though it is the same object
            return check_terms(new)
        said = OF_TERMS(new)
        last, its_kind, terms = self._last  # read at once: others may be checked at the same time
        if terms and its_kind is kind and all(map(is_, said, last)):  # as it is mostly: to hash them takes longer
            return terms
        try:
            key = (*said, *map(type, said))  # True is 1 to a dictionary, and not to us
            its_kind, terms = self._known.get(key, (None, None))
        except TypeError:
            return check_terms(new)
        if terms is None or its_kind is not kind:
            terms = check_terms(new)
            self._known[key] = kind, terms
        self._last = said, kind, terms
        return terms


class Lately:
    """The checker of calls that come one after the other."""

    def __init__(self) -> None:
        self._kept: tuple[float, Checker | None] = 0.0, None

    def checker(self) -> Checker:
        if tracing.is_on():
            return Checker()  # each call is of another trace
        now = monotonic()
        until, checker = self._kept
        if checker is None or now >= until:
            checker = Checker()
            self._kept = now + KEPT_FOR, checker
        return checker

    def forget(self, **_: Any) -> None:
        self._kept = 0.0, None


lately = Lately()
setting_changed.connect(lately.forget)  # only tests change them


def check(new: NewJob) -> CheckedJob:
    return lately.checker().check(new)
