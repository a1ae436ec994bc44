"""Who may call an operation, and which answers it documents."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from ninja import Field, Schema

from jobs.api.admission import admit, small
from jobs.api.authentication import Caller
from jobs.api.bodies import JSON
from jobs.api.errors import invalid


class Problem(Schema):
    code: str = Field(description="For programs: the same problem has the same code for ever.")
    message: str = Field(description="For people: what was wrong, and what to do.")
    fields: dict[str, str] | None = Field(None, description="What is wrong with each field; with the code `invalid`.")


class Refusal(Schema):
    error: Problem


class Access:
    """Staff with any of these permissions, by session or by token."""

    def __init__(
        self, permissions: tuple[str, ...], *, takes_body: bool = False, largest: Callable[[], int] = small
    ) -> None:
        self.permissions, self.takes_body, self.largest = permissions, takes_body, largest

    def __call__(self, request: HttpRequest) -> Caller:
        caller = admit(request, *self.permissions, staff=True, largest=self.largest, only_type=JSON)
        if not self.takes_body and request.body.strip() not in (b"", b"{}"):
            raise invalid("This call takes no body.")
        return caller

    def options(self, answer: Any, *errors: int, also: int = 200) -> dict[str, Any]:
        """For ninja: the check, the answer's shape, and the errors that all operations have, with these.

        `also` is another status of the same shape.
        """
        of_bodies = (400, 413, 415) if self.takes_body else ()
        statuses = sorted({401, 403, 422, *of_bodies, *errors})
        return {
            "auth": self,
            "response": {200: answer, also: answer, **dict.fromkeys(statuses, Refusal)},
            "openapi_extra": {"x-permission": self.permissions[0]},
        }


def caller_of(request: HttpRequest) -> Caller:
    """Whom `Access` admitted."""
    return request.auth  # type: ignore[attr-defined]  # set by ninja
