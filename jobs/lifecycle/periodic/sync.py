"""Sync: what the code declares becomes rows, and what operators edited stays as they said."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from jobs.db import Now, transactional
from jobs.exceptions import InvalidInput
from jobs.handlers.periodic import TERMS, Declaration, declarations
from jobs.handlers.registry import registry
from jobs.lifecycle.payload import check_payload
from jobs.lifecycle.periodic.rows import announce, replanned
from jobs.models import PeriodicJob

logger = logging.getLogger("jobs.periodic")


@dataclass
class SyncResult:
    """Names of periodic jobs by what became of them."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)


def sync_with_code() -> SyncResult:
    """What this process declares, for the kinds that it has handlers of."""
    result = sync(usable(declarations), [kind.name for kind in registry])
    for word, names in (("added", result.added), ("changed", result.changed), ("gone from the code", result.gone)):
        if names:
            logger.info("periodic jobs %s names=%s", word, ",".join(names))
    return result


def usable(declared: Iterable[Declaration]) -> list[Declaration]:
    """One that cannot be stored is left out, and told of: it keeps no other from being there."""
    good = []
    for each in declared:
        try:
            check_payload(each.payload)
        except InvalidInput as error:
            logger.error("periodic job cannot be used name=%s error=%r", each.name, str(error))
        else:
            good.append(each)
    return good


@transactional
def sync(declared: Collection[Declaration], kinds: Collection[str]) -> SyncResult:
    """Bring the rows up to date. Of a kind that has no handler here we know nothing: its rows are left alone."""
    result = SyncResult()
    missing = {each.name for each in declared} - set(PeriodicJob.objects.values_list("name", flat=True))
    new = [PeriodicJob(name=each.name, kind=each.kind, **each.terms()) for each in declared if each.name in missing]
    PeriodicJob.objects.bulk_create(new, ignore_conflicts=True)  # another worker may start at the same moment
    by_name = {each.name: each for each in declared}
    rows: Iterable[Any] = PeriodicJob.objects.select_for_update(no_key=True).annotate(now=Now()).order_by("pk")
    for row in rows:
        if row.name in by_name:
            if adopt(row, by_name[row.name]):
                (result.added if row.name in missing else result.changed).append(row.name)
        elif row.declared is not None and row.gone_at is None and row.kind in kinds:
            retire(row)
            result.gone.append(row.name)
    if result.added or result.changed or result.gone:
        announce()
    return result


def adopt(row: Any, declaration: Declaration) -> bool:
    """The code's word counts for all that nobody edited. A row made by hand under this name keeps what differs."""
    terms = declaration.terms()
    if row.declared == terms and row.kind == declaration.kind and row.gone_at is None:
        return False
    if row.declared is None:
        row.edited = [term for term in TERMS if getattr(row, term) != terms[term]]
    with replanned(row):
        for term in TERMS:
            if term not in row.edited:
                setattr(row, term, terms[term])
        row.kind, row.declared, row.gone_at = declaration.kind, terms, None
    row.save()
    return True


def retire(row: Any) -> None:
    """Its history stays until somebody removes it; should the code declare it again, it goes on as it was."""
    row.gone_at, row.next_at = row.now, None
    row.save(update_fields=["gone_at", "next_at"])
