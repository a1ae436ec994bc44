"""This machine: may files be written where they go, is there room, does the storage answer, and Redis?"""

import socket
import tempfile
from collections.abc import Iterator
from urllib.parse import urlsplit
from uuid import uuid4

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from jobs.conf import conf
from jobs.doctor.examination import Finding, examination
from jobs.handlers.folders import work_root
from jobs.selectors.concerns import Snapshot, low_disks
from jobs.selectors.disks import disks_here

REDIS_PATIENCE = 3.0  # seconds
SAID = b"doctor"


@examination("work directory")
def work_directory() -> Iterator[Finding]:
    root = work_root()
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=root):
            pass
    except OSError as error:
        text = f"The work directory {root} cannot be written to: {error.strerror}."
        yield Finding(text, "Set JOBS_WORK_DIR to a directory of this user, or chown it.")


@examination("room")
def room() -> Iterator[Finding]:
    for concern in low_disks(Snapshot(disks=disks_here())):
        yield Finding(concern.text, concern.advice)


@examination("storage")
def storage() -> Iterator[Finding]:
    """Written, read and removed: a storage elsewhere may allow one of them and not the others."""
    try:
        stored = default_storage.save(f"jobyard-doctor-{uuid4().hex}.txt", ContentFile(SAID))
        try:
            with default_storage.open(stored) as file:
                is_same = file.read() == SAID
        finally:
            default_storage.delete(stored)
    except Exception as error:  # a storage may raise anything of its own
        text = f"The storage for files cannot be used: {type(error).__name__}: {error}"
        yield Finding(text, "See MEDIA_ROOT, or the options and credentials in STORAGES.")
        return
    if not is_same:
        yield Finding("The storage for files gives back something else than was stored.", "See STORAGES.")


@examination("redis")
def redis() -> Iterator[Finding]:
    if not conf.REDIS_URL:
        return
    url = urlsplit(conf.REDIS_URL)
    host, port = url.hostname or "localhost", url.port or 6379
    try:
        with socket.create_connection((host, port), REDIS_PATIENCE) as sock:
            if url.scheme == "redis":
                sock.sendall(b"PING\r\n")
                if sock.recv(16)[:1] not in (b"+", b"-"):  # an error is an answer, too: we gave no password
                    raise ConnectionError("what answers there is no Redis")
    except OSError as error:
        text = f"Redis does not answer at {host}:{port}: {error}. Workers poll meanwhile."
        yield Finding(text, "Start it, or see JOBS_REDIS_URL.")
