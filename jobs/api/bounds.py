"""Bounds of what a request lists: pydantic tells of every wrong element, and of a million it tells in gigabytes.

Every list has a `max_length`, and `fail_fast`: the first wrong element ends it.
"""

from typing import Annotated, Any, TypeVar

from ninja import Field
from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

T = TypeVar("T")
MOST_FIELDS = 100  # of a body; no call takes nearly as many
MOST_NAMES = 1000  # of queues, or of kinds
MOST_IDS = 10_000  # of jobs


def not_too_many(value: Any) -> Any:
    """Before its items are looked at: an object knows no `fail_fast`."""
    if isinstance(value, dict) and len(value) > MOST_NAMES:
        raise PydanticCustomError("too_long", "should have at most {max_length} items", {"max_length": MOST_NAMES})
    return value


Named = Annotated[dict[str, T], Field(max_length=MOST_NAMES), BeforeValidator(not_too_many)]
