"""A machine at work on one job that has files: what it reads, and what it hands over."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.test import Client

from jobs.handlers.base import ClaimRef
from jobs.handlers.files import job_storage
from jobs.handlers.reach import Reach
from jobs.wire.names import CLAIM_HEADER, SHA256_HEADER
from tests.api.worker.calls import WORKER, Machine


def files_of(claim: ClaimRef, payload: Mapping[str, Any]) -> Reach:
    folder = f"out/{claim.job_id}-{claim.claim_id.hex[:8]}"
    return Reach({"in/source.bin": "", "in/gone.bin": ""}, ("in/more",), folder, frozenset({".txt"}))


@dataclass
class Desk:
    """A machine at work on one job."""

    machine: Machine
    claim: ClaimRef

    def call(self, method: str, path: str, body: bytes = b"", claim: str | None = None, **headers: str) -> Any:
        sent = {**self.machine.headers, CLAIM_HEADER: claim or str(self.claim.claim_id), **headers}
        options: dict[str, Any] = {"headers": sent}
        if method not in ("GET", "HEAD"):
            options |= {"data": body, "content_type": "application/octet-stream"}
        return Client().generic(method, f"{WORKER}/{self.claim.job_id}/{path}", **options)

    def get(self, path: str, **headers: Any) -> Any:
        return self.call("GET", path, **headers)

    def put(self, path: str, body: bytes, announced: bytes | None = None, **how: Any) -> Any:
        digest = hashlib.sha256(body if announced is None else announced).hexdigest()
        return self.call("PUT", path, body, **{SHA256_HEADER: digest, **how})

    def finalize(self, content: Mapping[str, bytes]) -> Any:
        files = [
            {"path": path, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for path, data in content.items()
        ]
        return self.call("POST", "finalize", json.dumps({"files": files}).encode())

    @property
    def stored(self) -> dict[str, bytes]:
        root = Path(job_storage().path("out"))
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    def named(self, path: str) -> str:
        return f"{self.claim.job_id}-{self.claim.claim_id.hex[:8]}/{path}"
