"""Sources from a storage that signs its own addresses: fetched there, and through the server where that fails."""

import hashlib
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.storage import FileSystemStorage, InMemoryStorage, Storage

from jobs.api.worker.files.sources import signed_url
from jobs.handlers.base import ClaimRef
from jobs.serving.stored_file import StoredFile
from jobs.worker import file_calls
from jobs.worker.file_calls import FileCalls
from jobs.worker.http_connection import HttpConnection
from jobs.worker.http_server import Server
from jobs.worker.remote_files import RemoteFiles, Source
from tests.worker.shaky_server import shaky_server
from tests.worker.test_downloading import Going

CONTENT = os.urandom(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Bucket(Storage):
    """Elsewhere; `answer` is what it says of the address of a file."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer

    def url(self, name: str | None) -> str:
        if self.answer is None:
            raise NotImplementedError
        return self.answer


@pytest.mark.parametrize(
    ("storage", "url"),
    [
        (Bucket("https://bucket.example.org/a?X-Amz-Signature=1"), "https://bucket.example.org/a?X-Amz-Signature=1"),
        (Bucket("https://bucket.example.org/a"), None),  # not signed: it may be open to all, or to nobody
        (Bucket("/media/a?v=1"), None),
        (Bucket("file:///a?b"), None),
        (Bucket(None), None),
        (InMemoryStorage(), None),
        (FileSystemStorage(base_url="https://site.example.org/media/?"), None),
    ],
)
def test_only_what_is_signed_and_elsewhere_is_told(storage: Storage, url: str | None):
    assert signed_url(StoredFile(storage, "a", 1, None)) == url


@pytest.mark.parametrize(
    ("mischief", "asked_here", "asked_there"), [([], 1, 0), (["breaks"], 2, 0), (["403"] * 9, 3, 1)]
)
def test_the_storage_is_asked_and_in_the_end_the_server(
    tmp_path: Path, monkeypatch: Any, mischief, asked_here, asked_there
):
    monkeypatch.setattr(file_calls, "FIRST_PAUSE", 0.01)
    with shaky_server(CONTENT, *mischief) as bucket, shaky_server(CONTENT) as site:
        connection = HttpConnection(Server(f"http://127.0.0.1:{site.server_port}", "a-secret-key"))
        files = RemoteFiles(FileCalls(connection, ClaimRef(1, uuid4()), Going()))
        source = Source("sources/1/a.mp4", len(CONTENT), SHA256, bucket.url)
        assert files._downloaded(source, tmp_path).read_bytes() == CONTENT
        connection.close()
    assert (len(bucket.asked), len(site.asked)) == (asked_here, asked_there)
    assert bucket.keys == [None] * asked_here
    assert site.keys == ["a-secret-key"] * asked_there
