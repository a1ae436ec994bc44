"""Reads a payload from the command line: JSON, a file, or pairs of key and value."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, NoReturn

from jobs.conf import conf
from jobs.exceptions import InvalidInput
from jobs.sanitise import printable

# JSON may be written far longer than it is stored: indented, or with every letter escaped.
WRITTEN_AT_MOST = 12


class NotJson(InvalidInput):
    """{what} is not JSON: {problem}."""


def read_payload(options: Mapping[str, Any]) -> Any:
    """The payload that was given in one of the three ways; an empty one if none was."""
    ways = [name for name in ("payload", "payload_file", "pairs") if options[name] not in (None, [])]
    if len(ways) > 1:
        raise InvalidInput("Give the payload in one way only: --payload, --payload-file or KEY=VALUE pairs.")
    if ways == ["payload"]:
        return parse_json(options["payload"], "The payload")
    if ways == ["payload_file"]:
        return parse_json(read_text(options["payload_file"]), "The payload file")
    return pairs_of(options["pairs"])


def parse_json(text: str, what: str) -> Any:
    def refuse_constant(word: str) -> NoReturn:
        raise NotJson(what=what, problem=f"there is no {word} in it")

    try:
        return json.loads(text, parse_constant=refuse_constant)
    except NotJson:
        raise
    except json.JSONDecodeError as error:
        raise NotJson(what=what, problem=f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise InvalidInput(f"{what} is nested too deeply.") from None
    except ValueError:  # more digits than Python is willing to read
        raise InvalidInput(f"{what} contains an integer of more than 64 bits; pass it as text.") from None


def read_text(name: str) -> str:
    """A file, or standard input for '-'; no more of it than a payload may have."""
    try:
        if name == "-":
            return read_at_most(sys.stdin.buffer)
        with open(name, "rb") as file:
            return read_at_most(file)
    except InvalidInput:
        raise
    except UnicodeDecodeError:
        raise InvalidInput("The payload file is not text in UTF-8.") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"The payload file {printable(name, 200)!r} cannot be read: {reason}.") from None


def read_at_most(file: BinaryIO) -> str:
    limit = conf.MAX_PAYLOAD * WRITTEN_AT_MOST
    raw = file.read(limit + 1)
    if len(raw) > limit:
        raise InvalidInput(f"The payload file is larger than {limit} bytes; JOBS_MAX_PAYLOAD is {conf.MAX_PAYLOAD}.")
    return raw.decode("utf-8-sig")


def pairs_of(pairs: Sequence[str]) -> dict[str, Any]:
    payload: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise InvalidInput(f"{printable(pair, 100)!r} is not KEY=VALUE.")
        if key in payload:
            raise InvalidInput(f"The key {printable(key, 100)!r} is given twice.")
        payload[key] = value_of(value, key)
    return payload


def value_of(text: str, key: str) -> Any:
    """JSON if it is JSON (5, true, [1, 2], "text"), else the text itself."""
    try:
        return parse_json(text, f"The value of {printable(key, 100)!r}")
    except NotJson:
        return text
