"""Jobs that a running one makes: each has a key, by which a later attempt finds it again. No ORM."""

from dataclasses import replace

from jobs.exceptions import InvalidInput
from jobs.handlers.base import Spawn
from jobs.handlers.keys import derived_key


def named(order: Spawn) -> Spawn:
    """With a key: where none is given, one of its kind and payload."""
    if order.key is not None:
        return order
    try:
        return replace(order, key=derived_key(order.kind, order.payload or {}))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The payload of a spawned job cannot be stored as JSON: {error}.") from None
