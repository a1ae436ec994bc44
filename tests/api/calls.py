"""Calls of an HTTP API as a program makes them, and what it reads of an error."""

import json
from typing import Any

from django.contrib.auth.models import Permission, User
from django.test import Client

from jobs.lifecycle.api_tokens import make_token

QUEUE = "/api/queue"


def with_token(user: User, name: str = "test") -> Client:
    """A program that acts as this user."""
    _, text = make_token(user, name)
    return Client(headers={"Authorization": f"Bearer {text}"}, enforce_csrf_checks=True)


def member(*permissions: str, name: str = "member", is_staff: bool = True) -> User:
    user = User.objects.create_user(name, password=None, is_staff=is_staff)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    return user


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
    assert told["error"]["message"].endswith((".", "?"))
    return told["error"]["code"], told["error"]["message"]


class Unreadable:
    """A body that must not be read."""

    def read(self, *size: int) -> bytes:
        raise AssertionError("the body was read")

    readline = read
