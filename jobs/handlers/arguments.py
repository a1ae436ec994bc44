"""Whether a payload fits its handler: asked where a job is enqueued, and again before it runs."""

import functools
import inspect
from collections.abc import KeysView, Mapping
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.handlers.registry import Kind

signature_of = functools.cache(inspect.signature)


def check_arguments(kind: Kind, payload: Mapping[str, Any]) -> None:
    """Every phase of a pipeline is given all of the payload."""
    assert kind.function is not None
    for function in [phase.function for phase in kind.phases] or [kind.function]:
        if (names := names_taken_by(function)) and names.fit(payload.keys()):
            continue
        try:
            signature_of(function).bind(None, **payload)  # None for the context
        except TypeError as error:
            raise InvalidInput(f"The payload does not fit the handler of {kind.name!r}: {error}.") from None


@dataclass(frozen=True)
class Names:
    """The names a handler takes: to compare them is ten times as fast as to bind arguments."""

    first: str
    known: frozenset[str]
    required: frozenset[str]
    takes_any: bool

    def fit(self, given: KeysView[str]) -> bool:
        return given >= self.required and (self.first not in given if self.takes_any else given <= self.known)


@functools.cache
def names_taken_by(function: Any) -> Names | None:
    """None where names alone do not tell: the context is not a plain first argument."""
    parameters = list(signature_of(function).parameters.values())
    if not parameters or parameters[0].kind is not Parameter.POSITIONAL_OR_KEYWORD:
        return None
    first, *others = parameters
    named = [each for each in others if each.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)]
    return Names(
        first.name,
        frozenset(each.name for each in named),
        frozenset(each.name for each in named if each.default is Parameter.empty),
        any(each.kind is Parameter.VAR_KEYWORD for each in others),
    )
