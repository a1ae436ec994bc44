"""How settings that are lists are read: from one text with commas, or from a list of texts."""

import base64
import binascii
from collections.abc import Iterable

from jobs.web_address import Allowed


def parse_list(raw: object) -> list[str]:
    """Texts with commas between them, or a list of texts."""
    parts = raw.split(",") if isinstance(raw, str) else raw
    if not isinstance(parts, Iterable):
        raise ValueError("a list of texts, or one text with commas")
    return [text for part in parts if (text := str(part).strip())]


def parse_allowed(raw: object) -> Allowed:
    return Allowed.parse(parse_list(raw))


def parse_ports(raw: object) -> frozenset[int]:
    ports = [int(part) if part.isdecimal() else 0 for part in parse_list(raw)]
    if not all(1 <= port <= 65_535 for port in ports):
        raise ValueError("port numbers from 1 to 65535, with commas between them")
    return frozenset(ports)


def parse_secrets(raw: object) -> tuple[bytes, ...]:
    """Secrets as Standard Webhooks writes them; the newest first, all of them sign."""
    secrets = []
    for entry in parse_list(raw):
        try:
            key = base64.b64decode(entry.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            key = b""
        if not entry.startswith("whsec_") or not 24 <= len(key) <= 64:
            raise ValueError("whsec_ and 24 to 64 random bytes in base64; several with commas between them")
        secrets.append(key)
    return tuple(secrets)


def parse_paths(raw: object) -> dict[str, str]:
    """`/there=/here`, both from the root on: what another machine calls a folder, and what this one does."""
    pairs = raw.items() if isinstance(raw, dict) else [part.partition("=")[::2] for part in parse_list(raw)]
    paths = {str(there).rstrip("/"): str(here).rstrip("/") for there, here in pairs}
    if not all(there.startswith("/") and here.startswith("/") for there, here in paths.items()):
        raise ValueError(
            "pairs of folders as in /srv/media=/mnt/media, both from the root on, with commas between them"
        )
    return paths
