"""JSON as it is sent: strict, for no two programs agree on what NaN means."""

import json
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.wire.shapes import WrongShape


def to_bytes(message: Any) -> bytes:
    """As short as it can be; half of a surrogate pair has no bytes, and needs the long form."""
    try:
        text = json.dumps(message, allow_nan=False, separators=(",", ":"), ensure_ascii=False)
        return text.encode()
    except UnicodeEncodeError:
        return json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"This cannot be sent as JSON: {error}.") from None


def from_bytes(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise WrongShape("JSON", body[:200]) from None
