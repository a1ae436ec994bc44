"""Secrets that a program shows to say who it is: 256 random bits, of which only a hash is stored."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

PREFIX_LENGTH = 8
SHAPE = re.compile(r"[a-z]{2,10}_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class NewSecret:
    text: str  # for its owner, once
    prefix: str  # finds its row, and lets people tell it from others
    digest: str  # what is stored


def new_secret(word: str) -> NewSecret:
    """`word` says what it is for, so that whoever finds one in a file knows what was lost."""
    prefix = secrets.token_hex(PREFIX_LENGTH // 2)
    text = f"{word}_{prefix}_{secrets.token_urlsafe(32)}"
    return NewSecret(text, prefix, digest_of(text))


def prefix_of(text: str) -> str | None:
    """None for what cannot be one of ours."""
    match = SHAPE.fullmatch(text)
    return match[1] if match else None


def digest_of(text: str) -> str:
    # Fast on purpose: 256 random bits cannot be guessed, however fast the guesses are checked.
    return hashlib.sha256(text.encode()).hexdigest()


def is_secret_of(digest: str, text: str) -> bool:
    """Takes as long for a wrong text as for a right one."""
    return hmac.compare_digest(digest, digest_of(text))
