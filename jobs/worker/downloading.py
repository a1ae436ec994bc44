"""Fetches a file over HTTP: resumed after a break, and under its name only when size and hash are right."""

import errno
import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from jobs.exceptions import JobyardError
from jobs.handlers.files import flush
from jobs.wire.names import SHA256_HEADER
from jobs.worker.file_calls import Answered
from jobs.worker.queue_client import QueueUnavailable

BLOCK = 64 * 1024  # what a break costs at most
TRIES = 3  # of a file that comes with another hash than announced
PART_SENT = re.compile(r"bytes (\d+)-\d+/(\d+)")
FULL = (errno.ENOSPC, errno.EDQUOT)
Open = Callable[[Mapping[str, str]], AbstractContextManager[Answered]]
Patiently = Callable[[Callable[[], None], Callable[[], object]], None]


class Damaged(JobyardError):
    """{name} came {tries} times with another content than announced: {why}."""


class NoRoom(JobyardError):
    """There is no room for {name} in {folder}: make room on this machine, or name another with JOBS_WORK_DIR."""


@dataclass
class Download:
    name: str
    size: int
    sha256: str  # empty: as the first answer says; if that does not, either, the size must do
    target: Path
    open: Open

    @property
    def part(self) -> Path:
        return self.target.with_name(self.target.name + ".part")

    def run(self, patiently: Patiently) -> None:
        """Raises Damaged, NoRoom, or what `patiently` raises when it has had enough."""
        if not self.sha256:
            self.part.unlink(missing_ok=True)  # nobody could tell whether it is of the same file
        for _ in range(TRIES):
            patiently(self.go_on, self.have)
            why = self.problem()
            if not why:
                flush(self.part)
                self.part.replace(self.target)
                return
            self.part.unlink()
        raise Damaged(name=self.name, tries=TRIES, why=why)

    def is_done(self) -> bool:
        """Whether an earlier attempt has fetched it."""
        return self.target.is_file() and self.target.stat().st_size == self.size and has_hash(self.target, self.sha256)

    def have(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def problem(self) -> str:
        """What is wrong with all that came; empty: nothing."""
        if self.have() != self.size:
            return f"{self.have()} bytes, not {self.size}"
        return "" if not self.sha256 or has_hash(self.part, self.sha256) else f"its SHA-256 is not {self.sha256}"

    def go_on(self) -> None:
        """One request for what is missing. Whatever comes that is no part of the file is not written."""
        start = self.have()
        if start >= self.size and self.size:
            return
        headers = {"Range": f"bytes={start}-"} if start else {}
        if start and self.sha256:
            headers["If-Range"] = f'"{self.sha256}"'
        with self.open(headers) as answer:
            self.write(answer, self.place_of(answer, start))
        if self.have() < self.size:
            raise QueueUnavailable(f"the connection broke after {self.have()} of {self.size} bytes")

    def place_of(self, answer: Answered, start: int) -> int:
        """Where in the file the answer begins."""
        self.sha256 = self.sha256 or answer.headers.get(SHA256_HEADER, "")
        if answer.status == 200:
            return 0
        sent = PART_SENT.fullmatch(answer.headers.get("Content-Range", ""))
        if answer.status == 206 and sent and (int(sent[1]), int(sent[2])) == (start, self.size):
            return start
        self.part.unlink(missing_ok=True)  # another file, or another size: begin anew
        raise QueueUnavailable(f"asked for the bytes from {start} on, and got {answer.status}")

    def write(self, answer: Answered, start: int) -> None:
        try:
            with self.part.open("r+b" if start else "wb") as file:
                file.seek(start)
                file.truncate()
                while file.tell() <= self.size and (block := answer.read(BLOCK)):
                    file.write(block)
        except OSError as error:
            if error.errno in FULL:
                self.part.unlink(missing_ok=True)
                raise NoRoom(name=self.name, folder=self.part.parent) from error
            raise


def has_hash(path: Path, sha256: str) -> bool:
    with path.open("rb") as file:
        return bool(sha256) and hashlib.file_digest(file, "sha256").hexdigest() == sha256
