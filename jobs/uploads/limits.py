"""What an upload may take: bytes, files, and time. One object for each request."""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from jobs.conf import conf
from jobs.sanitise import printable
from jobs.uploads.errors import TooLarge, TooSlow


def nothing() -> None:
    """For whoever need not be told that it goes on."""


@dataclass
class Limits:
    """`go_on` is called now and then, and may raise."""

    go_on: Callable[[], object] = nothing
    every: float = 10.0  # seconds between two of these calls

    def __post_init__(self) -> None:
        self._began = self._told = monotonic()
        self._named = 0

    def new_file(self, path: str) -> None:
        """One request names no more than an attempt may have: folders of an archive, and what it has twice, count."""
        self._named += 1
        check_amount(path, self._named, 0)

    def announced(self, path: str, size: int) -> None:
        """Before the first byte is read: what says itself that it is too large is not read at all."""
        if size > conf.UPLOAD_MAX_FILE:
            raise too_large(path, "JOBS_UPLOAD_MAX_FILE", f"{conf.UPLOAD_MAX_FILE} bytes")

    def tick(self) -> None:
        """With each block."""
        now = monotonic()
        if now - self._began > conf.UPLOAD_MAX_TIME:
            raise TooSlow(seconds=conf.UPLOAD_MAX_TIME)
        if now - self._told >= self.every:
            self._told = now
            self.go_on()


def check_amount(path: str, number: int, size: int) -> None:
    """All that an attempt has with this file."""
    if number > conf.UPLOAD_MAX_FILES:
        raise too_large(path, "JOBS_UPLOAD_MAX_FILES", f"{conf.UPLOAD_MAX_FILES} files")
    if size > conf.UPLOAD_MAX_TOTAL:
        raise too_large(path, "JOBS_UPLOAD_MAX_TOTAL", f"{conf.UPLOAD_MAX_TOTAL} bytes for an attempt")


def too_large(path: str, limit: str, most: str) -> TooLarge:
    return TooLarge(path=printable(path, 200), limit=limit, most=most)
