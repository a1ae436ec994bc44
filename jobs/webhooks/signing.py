"""Signs messages as Standard Webhooks does, so that receivers can use any library that knows it."""

import base64
import hashlib
import hmac
from collections.abc import Sequence


def signature(secret: bytes, message_id: str, timestamp: int, body: bytes) -> str:
    """HMAC-SHA256 over id, time and body."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()


def headers(secrets: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """With several secrets there are several signatures: while one is replaced, both of them are good."""
    named = {"webhook-id": message_id, "webhook-timestamp": str(timestamp)}
    if secrets:
        named["webhook-signature"] = " ".join(signature(secret, message_id, timestamp, body) for secret in secrets)
    return named
