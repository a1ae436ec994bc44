"""Keys made of what a job is: the same kind and payload have the same one. No ORM."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

KEY_LENGTH = 16


def derived_key(kind: str, payload: Mapping[str, Any]) -> str:
    """The same key for the same kind and payload on every machine."""
    canonical = json.dumps([kind, payload], sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:KEY_LENGTH]
