"""JSON as it is sent: strict, for no two programs agree on what NaN means."""

import json
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.wire.shapes import WrongShape


def to_bytes(message: Any) -> bytes:
    try:
        return json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"This cannot be sent as JSON: {error}.") from None


def from_bytes(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise WrongShape("JSON", body[:200]) from None
