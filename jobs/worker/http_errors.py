"""What an answer of the server means for a worker."""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from jobs import __version__
from jobs.exceptions import InvalidInput, JobyardError
from jobs.sanitise import printable
from jobs.wire.body import from_bytes
from jobs.wire.codecs import REFUSALS, refusal
from jobs.wire.names import Code
from jobs.wire.shapes import WrongShape
from jobs.worker.queue_client import JobBusy, QueueRefuses, QueueUnavailable

PASSING = (408, 425, 429)  # and whatever begins with 5: the same call may pass later
LONGEST_RETRY_AFTER = 60.0
SHOWN = 300
FOR_GOOD = {
    Code.IN_USE: "",
    Code.REPLACED: "Another process has taken this worker's place: this one stops.",
    Code.KEY_REVOKED: "The key was revoked: this worker stops. Make a new one in the admin, or by register_worker.",
    Code.KEY_EXPIRED: "The key has expired: this worker stops. Make a new one in the admin, or by register_worker.",
}


class NotStarted(Exception):
    """The server knows the worker and not this process: it calls `start` again."""


class WorkerDisabled(Exception):
    """An operator has disabled this worker: it hands back what it has, and is given nothing."""


class NoSuchPlace(Exception):
    """There is nothing at that address: no such job, or no such call."""


class TooLarge(InvalidInput):
    """The server does not read so much at once."""


class Strange(Exception):
    """No Jobyard server answers like this: another program, a login page, a proxy that has lost its server."""


def said_by(status: int, body: bytes) -> tuple[str, str]:
    """The code and the message of an error."""
    try:
        error = from_bytes(body)["error"]
        return str(error["code"]), printable(str(error["message"]), SHOWN)
    except (WrongShape, KeyError, TypeError):
        raise Strange(f"it answered {status} and no error of ours") from None


def is_passing(status: int) -> bool:
    return status in PASSING or status >= 500


def raise_for(status: int, headers: Mapping[str, str], body: bytes, job_id: int = 0) -> None:
    """Every answer but a good one ends here."""
    if 300 <= status < 400:
        to = printable(headers.get("Location", "elsewhere"), SHOWN)
        raise Strange(f"it redirects to {to}: use that address")
    if is_passing(status):
        unavailable = JobBusy if is_about_one_job(body) else QueueUnavailable
        raise unavailable(in_words(status, body), retry_in=retry_after(headers))
    code, message = said_by(status, body)
    if code in REFUSALS:
        raise refusal(code, job_id)
    if code in FOR_GOOD:
        raise QueueRefuses(FOR_GOOD[Code(code)] or message)
    raise named(status, code, message)


def named(status: int, code: str, message: str) -> Exception:
    if status == 401:
        return QueueRefuses(f"The server does not know this key: {message}")
    if code == Code.NOT_STARTED:
        return NotStarted(message)
    if code == Code.DISABLED:
        return WorkerDisabled(message)
    if status == 404:
        return NoSuchPlace(message)
    if status == 413:
        return TooLarge(message)
    return InvalidInput(message) if status in (400, 422) else JobyardError(message)


def is_about_one_job(body: bytes) -> bool:
    try:
        return said_by(0, body)[0] == Code.JOB_LOCKED
    except Strange:
        return False


def in_words(status: int, body: bytes) -> str:
    try:
        return f"{status} {said_by(status, body)[1]}"
    except Strange:
        return f"the server answered {status}"


def retry_after(headers: Mapping[str, str]) -> float:
    """Seconds; some say them, and some name the moment."""
    text = headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return min(float(text), LONGEST_RETRY_AFTER)
    try:
        left = (parsedate_to_datetime(text).astimezone(UTC) - datetime.now(UTC)).total_seconds()
    except ValueError:
        return 0.0
    return min(max(left, 0.0), LONGEST_RETRY_AFTER)


def understood(body: bytes) -> Any:
    try:
        return from_bytes(body)
    except WrongShape:
        raise Strange("it answered with something that is no JSON") from None


def not_ours(url: str, how: Exception) -> QueueRefuses:
    return QueueRefuses(
        f"{url} is not a Jobyard server, or the URL is not that of its site: {how}. "
        f"(The worker API is there if the site's urls.py includes jobs.api.urls, and the server is not much older "
        f"than this worker, which is version {__version__}.)"
    )
