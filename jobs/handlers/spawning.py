"""Jobs that a running one makes: each has a key, by which a later attempt finds it again. No ORM."""

from collections.abc import Iterable
from dataclasses import replace

from jobs.exceptions import InvalidInput
from jobs.handlers.base import Child, Spawn, Wish
from jobs.handlers.keys import derived_key
from jobs.handlers.reporter import Reporter


def spawned(reporter: Reporter, orders: Iterable[Spawn]) -> list[Child]:
    """The jobs that were asked for, in that order."""
    wanted = list(map(named, orders))
    known = {child.key: child for child in reporter.ask(Wish(tuple(wanted)))}
    return [known[str(order.key)] for order in wanted]


def children(reporter: Reporter) -> list[Child]:
    """All that there are."""
    return list(reporter.ask(Wish()))


def named(order: Spawn) -> Spawn:
    """With a key: where none is given, one of its kind and payload."""
    if order.key is not None:
        return order
    try:
        return replace(order, key=derived_key(order.kind, order.payload or {}))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The payload of a spawned job cannot be stored as JSON: {error}.") from None
