"""Makes whatever a handler sends storable: text and JSON without what the databases refuse, cut to a limit."""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

MAX_DEPTH = 64
MAX_INTEGER = 2**63
SECRET_NAME = re.compile(r"KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL|_URL$|_DSN$", re.IGNORECASE)
SHORTEST_SECRET = 8  # what is shorter is found in ordinary words
URL_PASSWORD = re.compile(r"(?<=://)([^\s/:@]*):([^\s/@]+)@")
# What looks like a secret, whoever wrote it there; the words before are a quick way to see that a text has none.
SHAPES = (
    (("://",), URL_PASSWORD, r"\1:[password]@"),
    (("_",), re.compile(r"\b(whsec_|[a-z]{2,10}_[0-9a-f]{8}_)[A-Za-z0-9_+/=-]{20,}"), r"\1[secret]"),
    (("bearer ", "basic "), re.compile(r"\b(bearer|basic) +[A-Za-z0-9._~+/=-]{8,}", re.I), r"\1 [secret]"),
    (
        ("token=", "secret=", "password=", "passwd=", "key="),
        re.compile(r"((?:token|secret|password|passwd|api_?key)=)[^&\s\"'#,;]+", re.I),
        r"\1[secret]",
    ),
    (
        ("key=", "sig=", "signature=", "code="),
        re.compile(r"([?&](?:key|sig|signature|x-amz-signature|code)=)[^&\s\"'#,;]+", re.I),
        r"\1[secret]",
    ),
)
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
    """Replace the values of secret environment variables, and what looks like a secret."""
    return Redactor(os.environ)(text)


class Redactor:
    """Removes secrets from many texts: the environment is read once, for a line of a log must cost microseconds."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        names = {
            value: name
            for name, whole in environment.items()
            if SECRET_NAME.search(name)
            for value in parts_of(whole)
            if len(value) >= SHORTEST_SECRET
        }
        self._names = sorted(names.items(), key=lambda item: len(item[0]), reverse=True)  # one may be part of another

    def __call__(self, text: str) -> str:
        for value, name in self._names:
            if value in text:
                text = text.replace(value, f"[{name}]")
        lowered = text.lower()
        for words, shape, instead in SHAPES:
            if any(word in lowered for word in words):
                text = shape.sub(instead, text)
        return text


def parts_of(value: str) -> Iterator[str]:
    """A secret, and the password in it if it is a URL, as it is written there and as it is meant."""
    yield value
    if match := URL_PASSWORD.search(value):
        yield match[2]
        yield unquote(match[2])


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
