"""A message about a job on its way: what is sent, and what became of it. Plain values, for whoever delivers it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID


@dataclass(frozen=True)
class Delivery:
    """A message that is ours to send for a while: the claim id guards what is written of it."""

    id: int
    claim_id: UUID
    message_id: str
    job_id: int
    event: str
    url: str
    host: str
    body: bytes
    timestamp: int  # by the database's clock: a receiver refuses what is minutes off


@dataclass(frozen=True)
class Sent:
    """What became of one try."""

    delivery: Delivery
    delivered: bool
    status: int | None = None
    answer: str = ""
    error: str = ""
    seconds: float = 0.0
    retry_after: float | None = None
    hopeless: bool = False  # another try would end the same way
    host_is_well: bool = True  # it answered, whatever it thinks of this message


def body_of(event: str, at: str, data: Mapping[str, Any]) -> bytes:
    """The same bytes for each try."""
    message = {"type": f"job.{event}", "timestamp": at, "data": data}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def result_within(result: Any, limit: int) -> dict[str, Any]:
    """A result that is too large is left out, and the message says so."""
    if result is not None and len(json.dumps(result, ensure_ascii=False).encode()) > limit:
        return {"result": None, "result_left_out": True}
    return {"result": result}
