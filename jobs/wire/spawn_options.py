"""The options of a spawned job, which a handler gives as Python values: a moment, or jobs that were spawned before."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from jobs.wire.shapes import Codec, WrongShape, an_object

MOMENT, AFTER = "run_after", "after"


def encode_options(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: encode_option(name, value) for name, value in options.items()}


def encode_option(name: str, value: Any) -> Any:
    if name == MOMENT and isinstance(value, datetime):
        return value.isoformat()
    if name == AFTER and not isinstance(value, (str, int)):
        return [getattr(job, "id", job) for job in value]
    return value


def decode_options(value: Any) -> dict[str, Any]:
    options = dict(an_object(value))
    if isinstance(moment := options.get(MOMENT), str):
        try:
            options[MOMENT] = datetime.fromisoformat(moment)
        except ValueError:
            raise WrongShape("a time like 2026-05-01T12:00:00+00:00", moment, f".{MOMENT}") from None
    return options


OPTIONS: Codec[dict[str, Any]] = Codec(encode_options, decode_options)
