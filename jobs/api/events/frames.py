"""How a message looks on the wire: `event:`, `id:`, `data:`, and an empty line."""

import json
from datetime import datetime
from typing import Any
from uuid import UUID


def as_json(value: Any) -> str:
    # Browsers read NaN as an error, and a line break would end the data: JSON writes neither of them raw.
    return json.dumps(value, default=plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def plain(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be sent")


def frame(event: str, value: Any, position: int | None = None) -> bytes:
    told = "" if position is None else f"id: {position}\n"
    return f"event: {event}\n{told}data: {as_json(value)}\n\n".encode()


def reconnect_after(seconds: float) -> bytes:
    return f"retry: {round(seconds * 1000)}\n\n".encode()
