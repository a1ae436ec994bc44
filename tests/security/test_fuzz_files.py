"""Whatever a worker sends as a file, an archive or a manifest: no fault of ours, and nothing lies where it may not."""

import gzip
import hashlib
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from jobs.api.worker.budgets import budgets
from jobs.handlers.registry import Kind, registry
from jobs.wire.names import SHA256_HEADER
from tests.api.worker.calls import machine
from tests.api.worker.desk import Desk, files_of
from tests.factories import claimed
from tests.security.trying import trying

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]  # which minds more than SQLite does
FEW = 25
NAMES = st.sampled_from([
    "a.txt", "b/c.txt", "../x.txt", "/etc/x.txt", "a/../../x.txt", ".hidden.txt", "-x.txt", "x.py", "a\\b.txt",
    "x" * 300 + ".txt", "a//b.txt", "", "é.txt",
]) | st.text(max_size=12)  # fmt: skip
TYPES = st.sampled_from([
    *[tarfile.REGTYPE] * 6, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE,
    tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, b"?",
])  # fmt: skip
SMALL = st.binary(max_size=200)
MEMBERS = st.lists(st.tuples(NAMES, TYPES, SMALL, st.integers(-5, 5)), max_size=4)
DAMAGES = st.tuples(st.integers(0, 1000), st.binary(max_size=3))
HASHES = st.sampled_from(["right", "right", "right", "wrong", "0" * 63, "é", ""])


@pytest.fixture
def desk(settings: LazySettings, tmp_path: Path) -> Iterator[Desk]:
    settings.STATIC_ROOT, settings.MEDIA_ROOT = tmp_path, tmp_path / "media"
    budgets.forget()
    registry.add(Kind("test.files", lambda context: None, files=files_of))
    made = machine()
    yield Desk(made, claimed(made.worker, kind="test.files"))
    registry.remove("test.files")


def packed(members: list[tuple[str, bytes, bytes, int]]) -> bytes:
    """An archive whose headers may lie about the sizes."""
    raw = b""
    for name, kind, content, lie in members:
        header = tarfile.TarInfo(name)
        header.type, header.size, header.linkname = kind, max(0, len(content) + lie), "/etc/passwd"
        raw += header.tobuf(tarfile.PAX_FORMAT, errors="surrogatepass") + content + bytes(-len(content) % 512)
    return gzip.compress(raw + bytes(1024))


def damaged(body: bytes, damage: tuple[int, bytes] | None) -> bytes:
    if damage is None or not body:
        return body
    place = damage[0] % len(body)
    return body[:place] + damage[1] + body[place + 1 :]


def put(desk: Desk, path: str, body: bytes, told: str) -> Any:
    digest = hashlib.sha256(body + b"!" * (told == "wrong")).hexdigest() if told in ("right", "wrong") else told
    return desk.call("PUT", path, body, **{SHA256_HEADER: digest})


def check(desk: Desk, folder: Path, call: Any) -> int:
    """The answer is one that callers are told of, and whatever it left lies below the folder of this attempt."""
    with transaction.atomic():
        answer = call()
        transaction.set_rollback(True)
    assert answer.status_code < 500 or answer.status_code in (503, 507), answer.content
    assert answer.status_code < 400 or answer.json()["error"].keys() >= {"code", "message"}
    places = [path for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()]
    own = folder / "media" / "out" / f"{desk.claim.job_id}-{desk.claim.claim_id.hex[:8]}"
    assert [path for path in places if path.is_symlink() or not path.resolve().is_relative_to(own)] == []
    assert not [path for path in places if path.suffix != ".txt"]
    return int(answer.status_code)


def test_files(desk: Desk, tmp_path: Path):
    seen = set()

    @trying(FEW)
    @given(NAMES | st.just("\ud800.txt"), st.binary(max_size=2000), HASHES)
    def hand_over(name: str, content: bytes, told: str) -> None:
        path = "files/" + "".join(f"%{byte:02x}" for byte in name.encode("utf-8", "surrogatepass"))
        seen.add(check(desk, tmp_path, lambda: put(desk, path, content, told)))

    hand_over()
    assert check(desk, tmp_path, lambda: put(desk, "files/a.txt", b"x", "right")) == 200
    assert len(seen) > 1


def test_archives(desk: Desk, tmp_path: Path):
    seen = set()

    @trying(FEW)
    @given(MEMBERS.map(packed) | SMALL | SMALL.map(gzip.compress), st.none() | DAMAGES, HASHES)
    def hand_over(body: bytes, damage: tuple[int, bytes] | None, told: str) -> None:
        seen.add(check(desk, tmp_path, lambda: put(desk, "archive", damaged(body, damage), told)))

    hand_over()
    good = packed([("a.txt", tarfile.REGTYPE, b"x", 0)])
    assert check(desk, tmp_path, lambda: put(desk, "archive", good, "right")) == 200
    assert len(seen) > 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FILES = st.fixed_dictionaries({
    "path": NAMES | JSON, "size": st.integers(-1, 2**70) | JSON, "sha256": st.sampled_from(["0" * 64, ""]) | JSON
})  # fmt: skip
MANIFESTS = st.fixed_dictionaries({"files": st.lists(FILES, max_size=3) | JSON}) | JSON


def test_manifests(desk: Desk, tmp_path: Path):
    @trying(FEW)
    @given(MANIFESTS.map(lambda value: json.dumps(value).encode()) | SMALL)
    def say_that_this_is_all(body: bytes) -> None:
        check(desk, tmp_path, lambda: desk.call("POST", "finalize", body))

    say_that_this_is_all()
