"""Calls of an HTTP API as a program makes them, and what it reads of an error."""

import json
from typing import Any

from django.test import Client


def post_json(
    client: Client, address: str, body: Any = None, content_type: str = "application/json", **more: Any
) -> Any:
    data = body if isinstance(body, (str, bytes)) else json.dumps({} if body is None else body)
    return client.generic("POST", address, data, CONTENT_TYPE=content_type, **more)


def error_of(answer: Any, status: int) -> tuple[str, str]:
    """The code and the sentence of an error, which is told as JSON and in no other way."""
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/json"), answer.content
    told = answer.json()
    assert told.keys() == {"error"}
    assert told["error"].keys() >= {"code", "message"}
    assert told["error"]["message"].endswith(".")
    return told["error"]["code"], told["error"]["message"]


class Unreadable:
    """A body that must not be read."""

    def read(self, *size: int) -> bytes:
        raise AssertionError("the body was read")

    readline = read
