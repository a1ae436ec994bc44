"""A statement with its values, to be run alone or together with others, and what became of it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

AND = "; -- and\n"  # between statements that are sent as one string


class Bound(NamedTuple):
    sql: str
    parameters: Sequence[Any]
    ageless: bool = False  # it looks for nothing: its plan is the same however large the tables grow


class Done(NamedTuple):
    """How many rows a statement wrote or found, and those it returned."""

    number: int
    rows: list[tuple[Any, ...]]
