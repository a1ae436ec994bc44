"""What no database stores, and numbers that no column holds, at each place in turn where a caller may put something.

PostgreSQL refuses what SQLite takes: a NUL, text that is too long, an integer beyond 64, 32 or 16 bits.
"""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from django.db import transaction

from jobs.api.docs_page import openapi

LONG = "x" * 10_000
WORDS = ("a\x00b", LONG, "9" * 30, "-1")  # as a form or an address may have them
TEXTS = ("a\x00b", "\ud800", LONG)
NUMBERS = (-1, 2**15, 2**31, 2**63, -(2**70), 1e308)
ANYTHING: tuple[Any, ...] = (*TEXTS, *NUMBERS, {"\x00": "\ud800"}, [[2**70]])
PLAIN = {"string": "x", "integer": 1, "number": 1.0, "boolean": False}
Schema = dict[str, Any]
Operation = tuple[str, str]  # the method, the path


@cache
def document() -> Schema:
    return openapi()


def operations(below: str) -> dict[Operation, Schema]:
    return {
        (method.upper(), path): told
        for path, methods in document()["paths"].items()
        for method, told in methods.items()
        if path.startswith(below)
    }


def body_of(told: Schema) -> Schema | None:
    """What the operation is sent as JSON."""
    content = told.get("requestBody", {}).get("content", {}).get("application/json")
    return content["schema"] if content else None


def resolved(schema: Schema) -> Schema:
    if "$ref" in schema:
        return resolved(document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return resolved(next(each for each in schema[several] if each.get("type") != "null"))
    return schema


def plain(name: str, schema: Schema, known: dict[str, Any]) -> Any:
    """Something that fits; by its name, where that is known."""
    if name in known:
        return known[name]
    schema = resolved(schema)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "array":
        return [plain("", schema.get("items", {}), known)]
    if "properties" in schema:
        return {key: plain(key, part, known) for key, part in schema["properties"].items()}
    return {} if schema.get("type") == "object" else PLAIN.get(schema.get("type", ""))


def spoiled(value: Any, schema: Schema) -> Iterator[Any]:
    """The value with one hostile thing in it, at each place in turn."""
    schema = resolved(schema)
    kind = schema.get("type")
    if "properties" in schema:
        for key, part in schema["properties"].items():
            yield from ({**value, key: worse} for worse in spoiled(value[key], part))
    elif kind == "array":
        items = schema.get("items", {})
        yield from ([worse] for worse in spoiled(value[0] if value else plain("", items, {}), items))
    elif kind == "object":
        yield from ({text: 1} for text in TEXTS)
        yield from ({"x": thing} for thing in ANYTHING)
    else:
        yield from {"string": TEXTS, "integer": NUMBERS, "number": NUMBERS, "boolean": ()}.get(kind or "", ANYTHING)


def fault(call: Callable[..., Any], *told: Any, **more: Any) -> str:
    """What is wrong with the answer, empty where nothing is. What the call changed is undone."""
    try:
        with transaction.atomic():
            answer = call(*told, **more)
            transaction.set_rollback(True)
    except Exception as error:
        return repr(error)[:200]
    return "" if answer.status_code < 500 else f"{answer.status_code} {answer.content[:200]!r}"
