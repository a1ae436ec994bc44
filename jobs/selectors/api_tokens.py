"""Finds tokens: the one a program shows, the one a person names, and all there are."""

from typing import Any

from jobs.exceptions import InvalidInput, NotFound
from jobs.lifecycle.new_job import check_text
from jobs.models import ApiToken


class TokenNotFound(NotFound):
    """There is no token {called!r}; list_api_tokens shows them all."""


def token_of(text: str) -> ApiToken | None:
    """The token with this secret, with its user and its problem."""
    return ApiToken.objects.select_related("user").shown(text)


def list_tokens(*, all_of_them: bool = False) -> list[ApiToken]:
    tokens: Any = ApiToken.objects.with_problem().select_related("user").order_by("name", "pk")
    return list(tokens if all_of_them else tokens.filter(problem=""))


def find_token(called: str) -> ApiToken:
    """By its prefix, or by its name where only one valid token has it."""
    check_text("name of the token", called, 200)
    tokens = ApiToken.objects.with_problem().select_related("user")
    found = list(tokens.filter(prefix=called)) or list(tokens.filter(name=called, revoked_at=None))
    if not found:
        raise TokenNotFound(called=called)
    if len(found) > 1:
        listed = ", ".join(f"{token.prefix} (of {token.user})" for token in found[:5])
        raise InvalidInput(f"{len(found)} tokens are called {called!r}; name one by its prefix: {listed}.")
    return found[0]
