"""What remote workers hand over: it counts when it is whole, checked and its job completed, and else it is removed."""

import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, InMemoryStorage, Storage

from jobs.exceptions import ClaimExpired, ClaimLost, InvalidInput, JobNotFound
from jobs.handlers.base import ClaimRef, Outcome
from jobs.handlers.files import job_storage
from jobs.handlers.reach import Reach
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle.finish import complete, fail, finish_one
from jobs.lifecycle.outputs.finalize import finalize
from jobs.lifecycle.outputs.take import begin, note
from jobs.lifecycle.prune import prune_once
from jobs.models import Job, Output
from jobs.selectors.outputs import reach_of
from jobs.states import Status, WorkerType
from jobs.uploads.errors import AlreadyFinal, BeingChecked, NameRefused, NotArrived, WrongContent
from jobs.uploads.limits import Limits
from jobs.uploads.receiving import Announced, Arrived, Landing
from tests.concurrency.threads import wait_until
from tests.factories import age, claimed, make_worker, reload

pytestmark = pytest.mark.django_db
CONTENT = {"a.txt": b"one", "b/c.txt": b"two" * 1000}
checked: list[str] = []
meanwhile: list[Callable[[], Any]] = []  # what is done while files are checked


def folder_of(claim: ClaimRef) -> str:
    return f"out/{claim.job_id}-{claim.claim_id.hex[:8]}"


def files_of(claim: ClaimRef, payload: Mapping[str, Any]) -> Reach:
    def check(storage: Storage, folder: str) -> None:
        checked.append(folder)
        for do in meanwhile:
            do()
        if "bad.txt" in storage.listdir(folder)[1]:
            raise InvalidInput("it has a bad file")

    return Reach({"in/source.txt": ""}, ("in/more",), folder_of(claim), frozenset({".txt"}), check)


@pytest.fixture(autouse=True)
def _kind(settings, tmp_path: Path) -> Iterator[None]:
    settings.MEDIA_ROOT = tmp_path / "media"
    registry.add(Kind("test.files", lambda context: None, files=files_of))
    checked.clear()
    meanwhile.clear()
    yield
    registry.remove("test.files")


@pytest.fixture
def claim() -> ClaimRef:
    return claimed(make_worker("remote", worker_type=WorkerType.REMOTE), kind="test.files")


def sent(claim: ClaimRef, content: Mapping[str, bytes] = CONTENT) -> list[Arrived]:
    """Hand files over as the API does; returns the manifest."""
    manifest = []
    for path, data in content.items():
        output = begin(claim, folder_of(claim))
        manifest.append(received(output, claim, path, data))
    return manifest


def received(output: Output, claim: ClaimRef, path: str, data: bytes) -> Arrived:
    landing, announced = Landing(job_storage(), output.folder), Announced(path, len(data))
    return landing.receive(announced, io.BytesIO(data).read, Limits(), partial(note, output, claim))


def finalized(claim: ClaimRef, manifest: list[Arrived]) -> None:
    finalize(claim, files_of(claim, {}), job_storage(), manifest)


def stored(claim: ClaimRef) -> dict[str, bytes]:
    folder = Path(job_storage().path(folder_of(claim)))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_whole_and_finalized_is_the_kinds_when_the_job_is_completed(claim):
    manifest = sent(claim)
    finalized(claim, manifest)
    assert checked == [folder_of(claim)]
    assert complete(claim).status == Status.COMPLETED
    assert not Output.objects.exists()
    prune_once()
    assert stored(claim) == CONTENT


def test_finalize_can_be_repeated_with_the_same_manifest_and_no_other(claim):
    manifest = sent(claim)
    finalized(claim, manifest)
    finalized(claim, list(reversed(manifest)))
    assert checked == [folder_of(claim)]
    with pytest.raises(AlreadyFinal):
        finalized(claim, manifest[:1])
    with pytest.raises(AlreadyFinal):
        sent(claim, {"late.txt": b"late"})


def refused(error: type[Exception], do: Callable[[], Any]) -> None:
    with pytest.raises(error):
        do()


def test_while_files_are_checked_none_changes_and_nobody_else_checks_them(claim):
    """Also one that was on its way before: it gets no name, and no row."""
    manifest = sent(claim)
    begun = begin(claim, folder_of(claim))
    meanwhile.extend(
        partial(refused, BeingChecked, do)
        for do in (
            lambda: sent(claim, {"a.txt": b"new"}),
            lambda: received(begun, claim, "a.txt", b"new"),
            lambda: finalized(claim, manifest),
            lambda: finalized(claim, manifest[:1]),
        )
    )
    finalized(claim, manifest)
    refused(AlreadyFinal, lambda: received(begun, claim, "a.txt", b"new"))
    assert (stored(claim), checked) == (CONTENT, [folder_of(claim)])
    assert Output.objects.get().arrived() == manifest


def test_after_a_check_that_failed_files_can_be_sent_again(claim):
    refused(InvalidInput, lambda: finalized(claim, sent(claim, {"bad.txt": b"x"})))
    finalized(claim, sent(claim))
    assert stored(claim) == CONTENT


def test_a_check_whose_server_was_killed_blocks_nobody_and_counts_no_more(claim):
    """It was stopped, not killed, and goes on when another has taken its place."""
    manifest = sent(claim)

    def stopped_for_long() -> None:
        meanwhile.clear()
        age(21)
        later.extend(sent(claim, {"a.txt": b"new"}))

    later: list[Arrived] = []
    meanwhile.append(stopped_for_long)
    refused(BeingChecked, lambda: finalized(claim, manifest))
    assert later, "it blocked who came later"
    assert not Output.objects.get().finalized_at
    finalized(claim, sent(claim))
    assert stored(claim) == CONTENT


@pytest.mark.django_db(transaction=True)
def test_a_check_that_takes_long_says_that_it_goes_on(claim, monkeypatch):
    monkeypatch.setattr("jobs.lifecycle.outputs.freeze.EVERY", 0.01)
    manifest = sent(claim)

    def for_long() -> None:
        age(21)
        before = Output.objects.get().check_alive_at
        wait_until(lambda: Output.objects.get().check_alive_at != before)
        refused(BeingChecked, lambda: finalized(claim, manifest))

    meanwhile.append(for_long)
    finalized(claim, manifest)
    assert checked == [folder_of(claim)]


def test_a_late_file_does_not_appear_where_all_was_collected(claim):
    sent(claim)
    begun = Output.objects.get()
    fail(claim, "taken away")
    prune_once()
    refused(ClaimLost, lambda: received(begun, claim, "late/a.txt", b"late"))
    assert stored(claim) == {}


def test_what_gets_no_name_gets_no_row(claim):
    output = begin(claim, folder_of(claim))
    landing = Landing(job_storage(), output.folder)

    def read(size: int) -> bytes:
        landing.sweep()  # as by a manifest that is sent meanwhile, and is not as it should be
        return b"one"

    with pytest.raises(WrongContent, match="swept away"):
        landing.receive(Announced("a.txt", 3), read, Limits(), partial(note, output, claim))
    assert output.arrived() == []


def test_a_kind_without_a_folder_hands_nothing_over(claim):
    """An empty name is that of all that is stored: it must never be tidied up."""
    for do in (lambda: begin(claim, ""), lambda: finalize(claim, Reach({}), job_storage(), [])):
        refused(InvalidInput, do)
    assert not Output.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda file: Arrived(file.path, file.size, hashlib.sha256(b"other").hexdigest()),
        lambda file: Arrived(file.path, file.size + 1, file.sha256),
        lambda file: Arrived("missing.txt", file.size, file.sha256),
    ],
)
def test_what_is_not_as_the_manifest_says_is_named_and_can_be_sent_again(claim, change):
    manifest = sent(claim)
    with pytest.raises(NotArrived) as refused:
        finalized(claim, [change(manifest[0]), manifest[1]])
    assert refused.value.missing == [change(manifest[0]).path]
    assert not checked
    finalized(claim, manifest)


def test_a_file_that_vanished_from_the_storage_has_not_arrived(claim):
    manifest = sent(claim)
    job_storage().delete(f"{folder_of(claim)}/a.txt")
    with pytest.raises(NotArrived, match=r"a\.txt"):
        finalized(claim, manifest)


def test_what_came_by_a_shared_disk_is_read_for_its_hash(claim):
    manifest = sent(claim, {"a.txt": b"one"})
    job_storage().save(f"{folder_of(claim)}/b.txt", ContentFile(b"shared"))
    with pytest.raises(NotArrived):
        finalized(claim, [*manifest, Arrived("b.txt", 6, hashlib.sha256(b"other").hexdigest())])
    finalized(claim, [*manifest, Arrived("b.txt", 6, hashlib.sha256(b"shared").hexdigest())])


def test_files_that_the_manifest_does_not_name_are_not_left_there(claim):
    manifest = sent(claim, {**CONTENT, "stray.txt": b"stray"})
    (Path(job_storage().path(folder_of(claim))) / ".incoming").mkdir(exist_ok=True)
    (Path(job_storage().path(folder_of(claim))) / ".incoming" / "half").write_bytes(b"half")
    finalized(claim, [file for file in manifest if file.path != "stray.txt"])
    assert stored(claim) == CONTENT


def test_what_the_kind_refuses_is_not_final(claim):
    manifest = sent(claim, {"bad.txt": b"x"})
    with pytest.raises(InvalidInput, match="a bad file"):
        finalized(claim, manifest)
    assert not Output.objects.get().finalized_at
    with pytest.raises(NameRefused):
        finalized(claim, [Arrived("../x.txt", 1, "0" * 64)])


@pytest.mark.parametrize("begun", [True, False])
def test_a_remote_worker_completes_nothing_before_it_has_handed_over_what_it_made(claim, begun):
    if begun:
        sent(claim)
    assert complete(claim).status == Status.PENDING  # to be tried again
    assert "has not handed its files over" in (reload(claim.job_id).last_error or "")


def test_a_worker_beside_the_storage_hands_nothing_over():
    direct = claimed(kind="test.files")
    assert complete(direct).status == Status.COMPLETED


def test_only_the_holder_of_the_claim_hands_files_over(claim):
    """The fence: neither a file nor a manifest of a lost claim counts, however far it had come."""
    manifest = sent(claim)
    output = Output.objects.get()
    age(121)
    with pytest.raises(ClaimExpired):
        note(output, claim, manifest[0])
    with pytest.raises(ClaimExpired):
        begin(claim, folder_of(claim))
    with pytest.raises(ClaimExpired):
        finalized(claim, manifest)


def test_handing_over_renews_the_lease(claim):
    for _ in range(3):
        age(100)
        sent(claim, {"a.txt": b"one"})
    assert Job.objects.held_by([claim.job_id], [claim.claim_id]).exists()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_lost_claims_left_is_collected_and_what_is_being_made_is_not(claim, settings, elsewhere):
    if elsewhere:
        settings.STORAGES = {**settings.STORAGES, "jobs": {"BACKEND": "django.core.files.storage.InMemoryStorage"}}
    storage = job_storage()
    assert isinstance(storage, InMemoryStorage if elsewhere else FileSystemStorage)
    sent(claim)
    prune_once()
    assert storage.exists(f"{folder_of(claim)}/a.txt")
    fail(claim, "broken")
    prune_once()
    assert not storage.exists(f"{folder_of(claim)}/a.txt")
    assert not Output.objects.exists()


def test_what_an_attempt_finalized_goes_too_when_its_completion_fails(claim):
    def broken(job: Job, result: Any) -> None:
        raise RuntimeError("not published")

    registry.get("test.files").on_complete = broken
    finalized(claim, sent(claim))
    assert finish_one(Outcome.completed(claim)).status == Status.PENDING
    assert Output.objects.exists(), "undone with all else that the completion wrote"
    prune_once()
    assert stored(claim) == {}


def test_the_kind_says_what_may_be_read_and_to_nobody_but_the_holder(claim):
    worker = reload(claim.job_id).worker_id
    assert worker is not None
    reach = reach_of(claim, worker)
    assert reach.may_read("in/source.txt")
    assert reach.may_read("in/more/x.txt")
    assert not any(map(reach.may_read, ["in/other.txt", "in/more", "in/more/../other.txt", "in/moreover.txt", ""]))
    with pytest.raises(JobNotFound):
        reach_of(claim, make_worker("another").pk)
    with pytest.raises(JobNotFound):
        reach_of(ClaimRef(999_999, claim.claim_id), worker)
    fail(claim, "broken")
    with pytest.raises(ClaimLost):
        reach_of(claim, worker)


def test_a_folder_that_attempts_would_share_is_refused(claim):
    registry.get("test.files").files = lambda claim, payload: Reach({}, writes="out/all")
    with pytest.raises(InvalidInput, match="not this attempt's alone"):
        reach_of(claim, reload(claim.job_id).worker_id)  # type: ignore[arg-type]  # it runs
