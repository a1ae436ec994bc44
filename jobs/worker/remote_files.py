"""`ctx.files` on a machine that does not see the storage: the same four calls, over HTTP.

Where both sides see the same disk (JOBS_PATH_MAP), or the storage signs addresses of its own, no file goes through the
web server.
"""

import functools
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote, urlencode

from jobs.exceptions import InvalidInput
from jobs.handlers.files import files_below, flush, linked
from jobs.uploads.receiving import Arrived, digest_of
from jobs.wire.names import SHA256_HEADER
from jobs.worker.child import FilesFor
from jobs.worker.downloading import Download, Open
from jobs.worker.file_calls import Answered, FileCalls, FilesRefused
from jobs.worker.http_connection import HttpConnection
from jobs.worker.http_server import Server
from jobs.worker.path_map import has_map, mapped
from jobs.worker.queue_client import QueueUnavailable
from jobs.worker.signed_urls import opened_url

CHECKED_WITHIN = 1200.0  # seconds: a film is looked through before the answer comes
TRIES = 3  # of a file that the server says did not arrive as sent, and of a manifest that names such files


@dataclass(frozen=True)
class Source:
    """A file that the job may read, as the server tells of it."""

    name: str
    size: int
    sha256: str | None = None
    url: str | None = None
    path: str | None = None

    @property
    def file_name(self) -> str:
        return PurePosixPath(self.name).name


class RemoteFiles:
    def __init__(self, calls: FileCalls) -> None:
        self.calls = calls
        self._fetched: dict[str, tuple[Path, int]] = {}  # and when the copy was written, in nanoseconds

    def fetch(self, name: str, folder: Path) -> Path:
        """The file as a path on this machine: on a disk that is shared, or else a copy in `folder`."""
        if self._has(name):
            return self._fetched[name][0]
        source = next((each for each in self._sources() if each.name == name), None)
        if source is None:
            raise FileNotFoundError(f"The server has no file {name!r} for this job.")
        path = self._shared(source) or self._downloaded(source, folder)
        self._fetched[name] = path, path.stat().st_mtime_ns
        return path

    def fetch_folder(self, name: str, folder: Path) -> None:
        """Copy the files of one folder; raises FileNotFoundError if it is gone."""
        folder.mkdir(parents=True, exist_ok=True)
        for source in self._sources(folder=name):
            shared = self._shared(source)
            if shared is None:
                self._downloaded(source, folder)
            else:
                copy(shared, folder / source.file_name)

    def put(self, folder: Path, name: str) -> None:
        """Hand a folder over, with all in it; the server has looked at it when this returns.

        What arrived stays there for as long as the claim is ours: after a break only the rest is sent.
        """
        there = self._handed()
        if there["folder"] != name:
            raise InvalidInput(f"This job may hand over the folder {there['folder']!r}, and not {name!r}.")
        manifest = [described(path, folder) for path in files_below(folder)]
        shared = mapped(there.get("path"))
        if shared is not None:
            place_all(folder, shared, manifest)
            self._finalize(manifest)
            return
        for _ in range(TRIES):
            self._send_missing(folder, manifest)
            if self._finalize(manifest):
                return
        raise FilesRefused(what="the manifest", why="files that were sent are not there")

    def remove(self, name: str, files: Sequence[str]) -> None:
        """Nothing to do: what is not finalized, the server removes by itself when the claim is gone."""

    # What there is

    def _sources(self, **about: str) -> list[Source]:
        if has_map():
            about["paths"] = "true"
        told = self.calls.ask("GET", f"sources?{urlencode(about)}")
        return [Source(**file) for file in told["files"]]

    def _handed(self) -> dict[str, Any]:
        told: dict[str, Any] = self.calls.ask("GET", "files?paths=true" if has_map() else "files")
        return told

    def _has(self, name: str) -> bool:
        """Whether this attempt fetched it, and nobody changed it since."""
        known = self._fetched.get(name)
        return known is not None and known[0].exists() and known[0].stat().st_mtime_ns == known[1]

    # In

    def _shared(self, source: Source) -> Path | None:
        path = mapped(source.path)
        return path if path and path.is_file() and path.stat().st_size == source.size else None

    def _downloaded(self, source: Source, folder: Path) -> Path:
        target = folder / source.file_name
        download = Download(source.name, source.size, source.sha256 or "", target, self._open(source))
        if not download.sha256 and not source.url and (target.exists() or download.have()):
            download.sha256 = self._hash_of(source)
        if not download.is_done():
            download.run(self.calls.patiently)
        return target

    def _hash_of(self, source: Source) -> str:
        """Asked where it is worth it: of a file that an earlier attempt has fetched already, or begun to.

        With one byte of it, not by HEAD: what refuses that has no body, and could be anybody's.
        """

        def ask() -> str:
            with self.calls.answer("GET", address_of(source), headers={"Range": "bytes=0-0"}) as answer:
                return answer.headers.get(SHA256_HEADER, "")

        return self.calls.patiently(ask)

    def _open(self, source: Source) -> Open:
        """By the storage's own address a few times; should it not work from here, through the server."""
        urls = [source.url] * TRIES if source.url else []

        def open_it(headers: Mapping[str, str]) -> AbstractContextManager[Answered]:
            if urls:
                return opened_url(urls.pop(), headers)
            return self.calls.answer("GET", address_of(source), headers=headers)

        return open_it

    # Out

    def _send_missing(self, folder: Path, manifest: Sequence[Arrived]) -> None:
        arrived = {file["path"]: Arrived(**file) for file in self._handed()["files"]}
        for file in manifest:
            if arrived.get(file.path) != file:
                self.calls.patiently(Sending(self.calls, folder, file))

    def _finalize(self, manifest: Sequence[Arrived]) -> bool:
        """Whether all was there; what was not is sent again."""
        body = json.dumps({"files": [asdict(file) for file in manifest]}).encode()
        try:
            self.calls.ask("POST", "finalize", body, timeout=CHECKED_WITHIN)
        except FilesRefused as error:
            if error.code != "incomplete":
                raise
            return False
        return True


@dataclass
class Sending:
    """One file on its way. Tried again, it first asks whether it arrived after all: only the answer may be lost."""

    calls: FileCalls
    folder: Path
    file: Arrived
    tries: int = 0

    def __call__(self) -> None:
        self.tries += 1
        if self.tries > 1 and self.has_arrived():
            return
        headers = {SHA256_HEADER: self.file.sha256, "Content-Type": "application/octet-stream"}
        try:
            with (self.folder / self.file.path).open("rb") as body:
                self.calls.once("PUT", f"files/{quote(self.file.path)}", body, headers=headers, length=self.file.size)
        except FilesRefused as error:
            if error.code == "wrong_content" and self.tries < TRIES:
                raise QueueUnavailable(str(error)) from error  # damaged on the way
            raise

    def has_arrived(self) -> bool:
        told = self.calls.once("GET", "files")["files"]
        return asdict(self.file) in told


def address_of(source: Source) -> str:
    return f"source?{urlencode({'name': source.name})}"


def described(path: Path, folder: Path) -> Arrived:
    with path.open("rb") as file:
        return Arrived(path.relative_to(folder).as_posix(), path.stat().st_size, digest_of(file))


def place_all(folder: Path, target: Path, manifest: Sequence[Arrived]) -> None:
    """On a disk that the server sees, too; it reads them there."""
    for file in manifest:
        copy(folder / file.path, target / file.path)
        (target / file.path).chmod(0o644)
        flush(target / file.path)
    for place in {target.parent, target, *((target / file.path).parent for file in manifest)}:
        flush(place)


def copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if not linked(path, target):
        shutil.copyfile(path, target)


def remote_files(server: Server) -> FilesFor:
    """For children: the connection is made by the first attempt that asks for files, and shared by the later ones."""

    @functools.cache
    def connection() -> HttpConnection:
        made = HttpConnection(server)
        made.is_known = True  # it gave us the job
        return made

    return lambda claim, context: RemoteFiles(FileCalls(connection(), claim, context))
