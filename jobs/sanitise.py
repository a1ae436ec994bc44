"""Makes whatever a handler sends storable: text and JSON without what the databases refuse, cut to a limit."""

import json
import math
import os
import re
from typing import Any

MAX_DEPTH = 64
MAX_INTEGER = 2**63
SECRET_NAME = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|_URL$|_DSN$", re.IGNORECASE)
URL_PASSWORD = re.compile(r"(?<=://)([^\s/:@]*):([^\s/@]+)@")
ELLIPSIS = "…"
CUT = " … [{} characters cut] … "


def clean_text(text: object, limit: int) -> str:
    """Text as both databases take it: no NUL, no lone surrogate, at most `limit` characters."""
    try:
        raw = text if isinstance(text, str) else str(text)
    except BaseException as error:  # a broken __str__ must not cost us the outcome
        raw = f"<text of {type(text).__name__} is not readable: {type(error).__name__}>"
    raw = raw.replace("\x00", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode("utf-8")
    return cut_middle(raw, limit)


def cut_middle(text: str, limit: int) -> str:
    """Keep both ends: a traceback says where at its start and what at its end."""
    if len(text) <= limit:
        return text
    note = CUT.format(len(text) - limit)
    head = max(0, limit - len(note)) // 3
    tail = max(0, limit - len(note) - head)
    return (text[:head] + note + text[len(text) - tail :])[:limit] if tail else text[:limit]


def clean_error(text: object, limit: int) -> str:
    """An error text or traceback: clean, and with no secret of the environment in it."""
    return cut_middle(redact(clean_text(text, limit=10 * limit)), limit)


def redact(text: str) -> str:
    """Replace the values of secret environment variables, and passwords inside URLs."""
    for name, value in os.environ.items():
        if len(value) >= 8 and SECRET_NAME.search(name):
            text = text.replace(value, f"[{name}]")
    return URL_PASSWORD.sub(r"\1:[password]@", text)


def clean_json(value: Any, limit: int) -> Any:
    """A JSON value near to `value` that can be stored; what is too large becomes a note that says so."""
    cleaned, size = measured_json(value, limit)
    if size <= limit:
        return cleaned
    preview = cut_middle(json.dumps(cleaned, ensure_ascii=False), 1000)
    return {"cut": True, "bytes": size, "limit": limit, "preview": preview}


def measured_json(value: Any, limit: int) -> tuple[Any, int]:
    """A JSON value near to `value`, and its size in bytes: what is above the limit is measured only so far."""
    cleaned = _clean(value, 0, Budget(limit))
    return cleaned, len(json.dumps(cleaned, ensure_ascii=False).encode())


class Budget:
    """How many values are looked at: each takes two bytes of JSON at least, and one that holds itself has no end."""

    def __init__(self, values: int) -> None:
        self.values = self.left = values

    def spend(self) -> bool:
        self.left -= 1
        return self.left >= 0


def _clean(value: Any, depth: int, budget: Budget) -> Any:
    if depth > MAX_DEPTH or not budget.spend():
        return "[cut: nested too deeply, or too many values]"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if abs(value) < MAX_INTEGER else "[cut: integer of more than 64 bits]"
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {_clean_string(key): _clean(item, depth + 1, budget) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_clean(item, depth + 1, budget) for item in value]
    return _clean_string(value)


def _clean_string(value: object) -> str:
    return clean_text(value, limit=10_000_000)


def printable(text: object, limit: int | None = None) -> str:
    """One line without control characters: escape sequences, newlines and direction marks are shown, not obeyed."""
    raw = str(text)
    if limit is not None and len(raw) > limit:
        raw = raw[: limit - 1] + ELLIPSIS
    return "".join(char if char.isprintable() else escaped(char) for char in raw)


def escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
