"""Makes and revokes the tokens of the HTTP API."""

from datetime import timedelta
from typing import Any

from django.db import IntegrityError

from jobs.bearer import new_secret
from jobs.db import Now, transactional
from jobs.exceptions import InvalidInput
from jobs.lifecycle.new_job import check_text
from jobs.models import ApiToken

WORD = "jobyard"


def make_token(user: Any, name: str, lifetime: timedelta | None = None) -> tuple[ApiToken, str]:
    """A new token of a user, and its text, which is known to nobody afterwards."""
    check_name(name)
    secret = new_secret(WORD)
    try:
        token = insert(user, name, secret.prefix, secret.digest, lifetime)
    except IntegrityError:
        raise InvalidInput(f"{user} has a token named {name!r}; choose another name, or revoke that one.") from None
    return token, secret.text


def check_name(name: str) -> None:
    if not name.strip():
        raise InvalidInput("Give the token a name that says what it is for.")
    check_text("name of the token", name, 100)


@transactional
def insert(user: Any, name: str, prefix: str, digest: str, lifetime: timedelta | None) -> ApiToken:
    expires_at = Now() + lifetime if lifetime is not None else None
    token = ApiToken.objects.create(user=user, name=name, prefix=prefix, digest=digest, expires_at=expires_at)
    token.refresh_from_db()
    return token


@transactional
def revoke_token(token: ApiToken) -> bool:
    """It counts no more from the next call on. Returns whether it was valid before."""
    return bool(ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=Now()))


@transactional
def note_use(token: ApiToken) -> None:
    ApiToken.objects.filter(pk=token.pk).update(last_used_at=Now())
