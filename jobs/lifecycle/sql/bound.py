"""A statement with its values, to be run alone or together with others."""

from collections.abc import Sequence
from typing import Any, NamedTuple

AND = "; -- and\n"  # between statements that are sent as one string


class Bound(NamedTuple):
    sql: str
    parameters: Sequence[Any]
    ageless: bool = False  # it looks for nothing: its plan is the same however large the tables grow
