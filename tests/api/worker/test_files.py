"""Files over HTTP: a worker reads what its job names and no more, and hands over what is whole and no less."""

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile

from jobs.api.worker.files import sources
from jobs.handlers.base import ClaimRef, Report
from jobs.handlers.files import job_storage
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle.finish import complete, fail
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.report import report
from jobs.serving.stored_file import StoredFile
from jobs.states import Status
from jobs.wire.names import SHA256_HEADER
from tests.api.calls import error_of
from tests.api.worker.calls import machine
from tests.api.worker.desk import Desk, files_of
from tests.factories import age, claimed, make_job, reload

pytestmark = pytest.mark.django_db
SOURCE = bytes(range(256)) * 1000
REFUSED_PATHS = [
    "../x.txt", "..%2fx.txt", "%2e%2e/x.txt", "/etc/x.txt", "a/../../x.txt", "a//x.txt", ".incoming/x.txt", "x.py",
    "x.txt%00", "a%5c..%5cx.txt", "-x.txt",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _site(settings, tmp_path: Path) -> Iterator[None]:
    settings.MEDIA_ROOT = tmp_path / "media"
    for name in ("in/source.bin", "in/more/a.bin", "in/more/deep/b.bin", "in/secret.bin"):
        job_storage().save(name, ContentFile(SOURCE))
    registry.add(Kind("test.files", lambda context: None, files=files_of))
    yield
    registry.remove("test.files")


@pytest.fixture
def desk() -> Desk:
    made = machine()
    return Desk(made, claimed(made.worker, kind="test.files"))


def body_of(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def code_of(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_the_source_comes_whole_with_size_and_hash(desk):
    answer = desk.get("source")
    assert (answer.status_code, body_of(answer)) == (200, SOURCE)
    assert answer[SHA256_HEADER] == hashlib.sha256(SOURCE).hexdigest()
    assert (answer["Content-Length"], answer["ETag"]) == (str(len(SOURCE)), f'"{answer[SHA256_HEADER]}"')
    head = desk.call("HEAD", "source")
    assert (head.status_code, head[SHA256_HEADER], head["Content-Length"]) == (
        200,
        answer[SHA256_HEADER],
        str(len(SOURCE)),
    )


def test_a_file_is_read_for_its_hash_by_one_at_a_time(desk, monkeypatch):
    meanwhile: list[Any] = []

    def read(file: StoredFile) -> str:
        meanwhile.append(desk.call("HEAD", "source"))
        raise OSError("the disk is gone")

    monkeypatch.setattr(sources, "read_for_hash", read)
    with pytest.raises(OSError, match="gone"):
        desk.get("source")
    assert [(answer.status_code, answer["Retry-After"]) for answer in meanwhile] == [(503, "5")]
    monkeypatch.undo()
    assert body_of(desk.get("source")) == SOURCE, "who failed leaves it to the next"


def test_after_a_break_the_rest_is_sent_unless_it_is_another_file(desk):
    tag = desk.call("HEAD", "source")["ETag"]
    rest = desk.get("source", Range="bytes=255000-", **{"If-Range": tag})
    assert (rest.status_code, body_of(rest), rest["Content-Range"]) == (
        206,
        SOURCE[255_000:],
        "bytes 255000-255999/256000",
    )
    other = desk.get("source", Range="bytes=255000-", **{"If-Range": '"another"'})
    assert (other.status_code, body_of(other)) == (200, SOURCE)
    assert desk.get("source", Range="bytes=256000-").status_code == 416


def test_sources_are_listed_with_what_is_known_of_them(desk):
    [only] = desk.get("sources").json()["files"]
    assert only == {"name": "in/source.bin", "size": 256_000, "sha256": None, "url": None, "path": None}
    [more] = desk.get("sources?folder=in/more&paths=true").json()["files"]
    assert (more["name"], more["path"]) == ("in/more/a.bin", job_storage().path("in/more/a.bin"))
    [deep] = desk.get("sources?folder=in/more/deep").json()["files"]
    assert body_of(desk.get(f"source?name={deep['name']}")) == SOURCE


@pytest.mark.parametrize(
    "path",
    [
        "source?name=in/secret.bin", "source?name=in/more/../secret.bin", "source?name=/etc/passwd",
        "source?name=in/gone.bin", "source?name=in/more", "source?name=in/more/link.bin", "sources?folder=in",
        "sources?folder=in/more/..", "sources?folder=in/nothing", "sources?folder=in/more/gone",
    ],
)  # fmt: skip
def test_nothing_else_can_be_read(desk, path):
    Path(job_storage().path("in/more/link.bin")).symlink_to(job_storage().path("in/secret.bin"))
    assert code_of(desk.get(path)) == (404, "not_found")


def test_files_arrive_are_listed_and_become_the_kinds(desk):
    content = {"a.txt": b"one", "b/c.txt": b"two"}
    for path, data in content.items():
        for _ in range(2):  # repeatable
            assert desk.put(f"files/{path}", data).status_code == 200
    told = desk.get("files").json()
    assert ([file["path"] for file in told["files"]], told["finalized"]) == (["a.txt", "b/c.txt"], False)
    assert [desk.finalize(content).json()["finalized"] for _ in range(2)] == [True, True]
    assert complete(desk.claim).status == Status.COMPLETED
    assert desk.stored == {desk.named(path): data for path, data in content.items()}


def test_what_was_written_to_a_shared_disk_and_never_finalized_is_collected(desk):
    place = Path(desk.get("files?paths=true").json()["path"])
    place.mkdir(parents=True)
    (place / "a.txt").write_bytes(b"one")
    assert desk.stored == {desk.named("a.txt"): b"one"}
    fail(desk.claim, "broken")
    prune_once()
    assert desk.stored == {}


@pytest.mark.parametrize("path", REFUSED_PATHS)
def test_no_name_leads_elsewhere(desk, path, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    answer = desk.put(f"files/{path}", b"x")
    assert answer.status_code in (404, 422), answer.content
    assert sorted(tmp_path.rglob("*")) == before


def test_a_wrong_hash_and_no_hash_leave_nothing(desk):
    assert code_of(desk.put("files/a.txt", b"damaged", announced=b"as sent")) == (422, "wrong_content")
    assert code_of(desk.call("PUT", "files/a.txt", b"x")) == (422, "invalid")
    assert code_of(desk.call("PUT", "files/a.txt", b"x", **{SHA256_HEADER: "short"})) == (422, "invalid")
    assert desk.stored == {}
    assert desk.get("files").json()["files"] == []


def test_too_large_and_too_many_are_refused(desk, settings):
    settings.JOBS_UPLOAD_MAX_FILE = 10
    assert code_of(desk.put("files/a.txt", b"x" * 11)) == (413, "too_large")
    settings.JOBS_UPLOAD_MAX_FILES = 1
    assert desk.put("files/a.txt", b"x").status_code == 200
    assert code_of(desk.put("files/b.txt", b"x")) == (413, "too_large")
    settings.JOBS_UPLOAD_MAX_FILES, settings.JOBS_UPLOAD_MAX_TOTAL = 2, 5
    assert code_of(desk.put("files/b.txt", b"x" * 5)) == (413, "too_large")
    assert list(desk.stored) == [desk.named("a.txt")]


def test_what_is_sent_again_does_not_count_twice(desk, settings):
    settings.JOBS_UPLOAD_MAX_FILES, settings.JOBS_UPLOAD_MAX_TOTAL = 2, 500
    archive = packed({"a.txt": b"x" * 300, "b.txt": b"x" * 200})
    for _ in range(2):
        assert desk.put("archive", archive).status_code == 200
        assert desk.put("files/a.txt", b"y" * 300).status_code == 200
    assert code_of(desk.put("archive", packed({"b.txt": b"z" * 201}))) == (413, "too_large")
    assert desk.stored == {desk.named("a.txt"): b"y" * 300, desk.named("b.txt"): b"x" * 200}


def packed(content: Mapping[str, bytes], *links: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, data in content.items():
            header = tarfile.TarInfo(name)
            header.size = len(data)
            archive.addfile(header, io.BytesIO(data))
        for name in links:
            header = tarfile.TarInfo(name)
            header.type, header.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(header)
    return file.getvalue()


def test_an_archive_brings_many_files_at_once(desk):
    content = {f"{number}/x.txt": b"x" * number for number in range(20)}
    answer = desk.put("archive", packed(content))
    assert (answer.status_code, len(answer.json()["files"])) == (200, 20)
    assert desk.finalize(content).status_code == 200


@pytest.mark.parametrize(
    ("archive", "status"),
    [
        (packed({"a.txt": b"one", "../b.txt": b"two"}), 422),
        (packed({"a.txt": b"one"}, "link.txt"), 422),
        (packed({"a.txt": b"one", "b.txt": b"x" * 2000}), 413),
        (packed({"a.txt": b"one", "b.txt": bytes(range(256)) * 3})[:-100], 422),
    ],
)
def test_an_archive_with_harm_in_it_is_refused_and_what_came_before_is_kept(desk, archive, status, settings, tmp_path):
    settings.JOBS_UPLOAD_MAX_FILE = 1000
    assert desk.put("archive", archive).status_code == status
    assert set(desk.stored.values()) <= {b"one"}
    assert {path.name for path in tmp_path.rglob("*.txt")} <= {"a.txt"}
    assert desk.put("archive", packed({"b.txt": b"two"})).status_code == 200  # and goes on


def test_bodies_above_their_limit_are_not_read(desk, settings, monkeypatch):
    """Whatever is in them: there may be more of an archive's body than of the files in it."""
    settings.JOBS_UPLOAD_MAX_TOTAL = 1000
    assert code_of(desk.put("archive", packed({"a.txt": b"one"}) + bytes(1000))) == (413, "too_large")
    assert desk.get("files").json()["files"] == []
    assert desk.put("files/a.txt", b"one").status_code == 200
    monkeypatch.setattr("jobs.api.worker.files.outputs.LARGEST_MANIFEST", 50)
    assert code_of(desk.finalize({"a.txt": b"one"})) == (413, "too_large")


def test_an_archive_with_another_hash_than_announced_is_told(desk):
    assert code_of(desk.put("archive", packed({"a.txt": b"one"}), announced=b"other")) == (422, "wrong_content")


def test_a_manifest_that_does_not_fit_is_refused_with_what_is_missing(desk):
    desk.put("files/a.txt", b"one")
    answer = desk.finalize({"a.txt": b"one", "b.txt": b"two"})
    assert (code_of(answer), answer.json()["error"]["missing"]) == ((409, "incomplete"), ["b.txt"])
    for body in (b"", b"{}", b"[]", b'{"files": [{"path": "a.txt", "size": -1, "sha256": "x"}]}', b"\xff"):
        assert code_of(desk.call("POST", "finalize", body)) == (422, "invalid")


def test_of_a_manifest_with_much_wrong_one_thing_is_told_and_more_than_files_there_may_be_is_not_read(desk, settings):
    wrong = desk.call("POST", "finalize", json.dumps({"files": [{"path": "a.txt"}] * 20_000}).encode())
    assert wrong.json()["error"]["fields"] == {"files.0.size": "is missing", "files.0.sha256": "is missing"}
    assert code_of(wrong) == (422, "invalid")
    settings.JOBS_UPLOAD_MAX_FILES = 10
    much: tuple[list[Any], ...] = ([{}] * 50, [[]] * 50, [0] * 100)
    for files in much:
        answer = desk.call("POST", "finalize", json.dumps({"files": files}).encode())
        assert error_of(answer, 422)[1] == "The manifest tells of more than 10 files (JOBS_UPLOAD_MAX_FILES)."
    content = {f"{number}.txt": b"" for number in range(10)}
    assert code_of(desk.finalize(content)) == (409, "incomplete"), "as many as there may be are read"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "source"),
        ("GET", "sources"),
        ("GET", "files"),
        ("PUT", "files/a.txt"),
        ("PUT", "archive"),
        ("POST", "finalize"),
    ],
)
def test_a_claim_that_is_not_held_reaches_nothing(desk, method, path):
    def code(who: Desk, claim: str | None = None) -> tuple[int, str]:
        return code_of(who.call(method, path, packed({"a.txt": b"x"}), claim, **{SHA256_HEADER: "0" * 64}))

    stranger = Desk(machine("another"), desk.claim)
    assert code(stranger) == (404, "not_found")
    assert code(desk, "not-a-uuid") == (422, "invalid")
    age(121)
    assert code(desk) == (409, "claim_expired")
    heartbeat(desk.machine.worker_id, [desk.claim])
    fail(desk.claim, "broken")
    assert code(desk)[0] in (404, 409)
    assert desk.stored == {}


def test_uploads_renew_the_lease(desk):
    for _ in range(3):
        age(100)
        assert desk.put("files/a.txt", b"one").status_code == 200
    assert reload(desk.claim.job_id).status == Status.RUNNING


def test_a_claim_lost_in_the_middle_of_an_upload_ends_it(desk, monkeypatch):
    """Whatever came by then is not noted, and is collected with the rest of the attempt's."""
    monkeypatch.setattr("jobs.api.worker.files.outputs.RENEW_EVERY", 0)
    renewals = iter(range(1000))

    def renew(claim: ClaimRef) -> None:
        if next(renewals) == 2:
            fail(claim, "taken away")
        report(Report(claim))

    monkeypatch.setattr("jobs.lifecycle.outputs.take.renew", renew)
    assert code_of(desk.put("archive", packed({"a.txt": b"one", "b.txt": os.urandom(3_000_000)})))[0] == 409
    assert next(renewals) == 3, "it went on after the claim was lost"
    prune_once()
    assert desk.stored == {}


def test_who_sends_a_manifest_again_while_it_is_checked_is_asked_to_wait(desk):
    answers: list[Any] = []
    content = {"a.txt": b"one"}

    def check(*about: Any) -> None:
        if not answers:
            answers.append(desk.finalize(content))

    registry.get("test.files").files = lambda *about: replace(files_of(*about), check=check)
    desk.put("files/a.txt", b"one")
    assert desk.finalize(content).json()["finalized"]
    assert (code_of(answers[0]), answers[0]["Retry-After"]) == ((503, "busy"), "5")


def test_a_kind_without_files_has_none():
    made = machine()
    desk = Desk(made, claimed(made.worker, job=make_job()))
    assert code_of(desk.get("source")) == (404, "not_found")
    assert code_of(desk.put("files/a.txt", b"x")) == (422, "invalid")
    assert code_of(desk.put("archive", packed({}))) == (422, "invalid")
    assert code_of(desk.finalize({})) == (422, "invalid")
    assert desk.get("files?paths=true").json()["path"] is None
    fail(desk.claim, "broken")
    prune_once()
    assert job_storage().exists("in/source.bin"), "the folder without a name was tidied up, which is that of all"
