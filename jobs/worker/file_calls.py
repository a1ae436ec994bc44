"""The calls about files that a handler's process makes: repeated through an outage, and never past a lost claim."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol, TypeVar

from jobs.exceptions import ClaimError, JobyardError
from jobs.handlers.base import ClaimRef
from jobs.wire.names import CLAIM_HEADER, Code
from jobs.worker.http_connection import ANSWER, LONGEST_ERROR
from jobs.worker.http_errors import Strange, is_passing, retry_after, said_by, understood
from jobs.worker.queue_client import QueueUnavailable

R = TypeVar("R")
PATIENCE = 3600.0  # seconds without one byte getting through: then the attempt fails, and the job is tried again
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
SLICE = 0.2  # seconds: so soon a waiting call hears that it need not go on
LARGEST_ANSWER = 64 * 1024 * 1024
OF_CLAIMS = (Code.CLAIM_LOST, Code.CLAIM_EXPIRED, Code.REPLACED, Code.NOT_STARTED)


class ServerFull(JobyardError):
    """The server has no room for the files: {why}"""


class ServerAway(JobyardError):
    """The server could not be reached for {seconds:.0f} s: {why}"""


class FilesRefused(JobyardError):
    """The server refuses {what}: {why}"""

    @property
    def code(self) -> str:
        return str(self.about.get("code", ""))


class Answered(Protocol):
    """An answer whose body has not been read yet."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    def read(self, size: int) -> bytes: ...
    def close(self) -> None: ...


class Opener(Protocol):
    """How the server is reached; raises QueueUnavailable where it is not."""

    def open(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | IO[bytes] | None = None,
        *,
        length: int | None = None,
        timeout: float = ANSWER,
    ) -> Answered: ...


class Attending(Protocol):
    """What a context tells of its attempt."""

    def raise_if_cancelled(self) -> None: ...
    def guard(self) -> None: ...


@dataclass(frozen=True)
class FileCalls:
    opener: Opener
    claim: ClaimRef
    attempt: Attending

    def ask(self, method: str, path: str, body: bytes | None = None, timeout: float = ANSWER) -> Any:
        """JSON for JSON, as often as it takes."""
        return self.patiently(lambda: self.once(method, path, body, timeout=timeout))

    def once(self, method: str, path: str, body: bytes | IO[bytes] | None = None, **how: Any) -> Any:
        with self.answer(method, path, body, **how) as answer:
            try:
                return understood(read_whole(answer))
            except Strange as strange:
                raise QueueUnavailable(str(strange)) from None

    @contextmanager
    def answer(
        self,
        method: str,
        path: str,
        body: bytes | IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        length: int | None = None,
        timeout: float = ANSWER,
    ) -> Iterator[Answered]:
        """An answer that is no refusal; it may have to be tried again where it raises QueueUnavailable."""
        sent = {CLAIM_HEADER: str(self.claim.claim_id), **(headers or {})}
        answer = self.opener.open(method, f"{self.claim.job_id}/{path}", sent, body, length=length, timeout=timeout)
        try:
            if answer.status not in (200, 201, 206, 416):
                self.refuse(answer, f"{method} {path.partition('?')[0]}")
            yield answer
        finally:
            answer.close()

    def refuse(self, answer: Answered, what: str) -> None:
        """Raise what the refusal means. Whether a claim is lost, the worker asks itself: it has more to end, then."""
        code, message = error_in(answer)
        if code in OF_CLAIMS:
            self.attempt.guard()
            raise QueueUnavailable(message)  # it holds after all: a heartbeat came in between
        if answer.status == 507:
            raise ServerFull(why=message)
        if is_passing(answer.status):
            raise QueueUnavailable(f"{answer.status}: {message}", retry_after(answer.headers))
        if answer.status == 404:
            self.attempt.guard()  # no such file, or no such job of ours any more
            raise FileNotFoundError(f"{what}: {message}")
        raise FilesRefused(what=what, why=message, code=code)

    def patiently(self, call: Callable[[], R], moved: Callable[[], object] = lambda: None) -> R:
        """Repeat a call until it passes. As long as what `moved` tells changes, the server is not away."""
        since, pause, before = time.monotonic(), FIRST_PAUSE, moved()
        while True:
            self.attempt.raise_if_cancelled()
            try:
                return call()
            except (QueueUnavailable, ClaimError) as error:
                asked = error.retry_in if isinstance(error, QueueUnavailable) else 0.0
                if isinstance(error, ClaimError) and error.code != Code.CLAIM_EXPIRED:
                    raise
                if (now := moved()) != before:
                    since, pause, before = time.monotonic(), FIRST_PAUSE, now
                if time.monotonic() - since > PATIENCE:
                    raise ServerAway(seconds=PATIENCE, why=str(error)) from error
            self.wait(max(pause * random.uniform(0.5, 1.0), asked))
            pause = min(2 * pause, LONGEST_PAUSE)

    def wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self.attempt.raise_if_cancelled()
            time.sleep(min(left, SLICE))


def read_whole(answer: Answered) -> bytes:
    parts, size = [], 0
    while block := answer.read(1024 * 1024):
        parts.append(block)
        size += len(block)
        if size > LARGEST_ANSWER:
            raise FilesRefused(what="an answer", why=f"it is larger than {LARGEST_ANSWER} bytes")
    return b"".join(parts)


def error_in(answer: Answered) -> tuple[str, str]:
    """The code and the message. The server gave us the job: what now answers in its place will pass.

    Not so a proxy's own limit on the size of a body, which is as low an hour later.
    """
    try:
        return said_by(answer.status, answer.read(LONGEST_ERROR))
    except Strange as strange:
        if answer.status == 413:
            return Code.TOO_LARGE, "a proxy before the server takes no body of this size"
        raise QueueUnavailable(str(strange), retry_after(answer.headers)) from None
