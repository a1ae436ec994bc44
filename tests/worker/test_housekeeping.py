"""Directories that nobody needs any more go, and those of whoever may still need them stay."""

import errno
import shutil
import threading
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from jobs.handlers import folders as folders_module
from jobs.handlers.base import ClaimRef
from jobs.handlers.folders import Folders, remove
from jobs.process_identity import this_process
from jobs.states import Status
from jobs.worker import housekeeping
from jobs.worker.database_client import DatabaseClient
from jobs.worker.housekeeping import Janitor, folders_of_this_process, owner_name, process_named, remove_leftovers
from jobs.worker.last_waits import LastWaits
from tests.concurrency.threads import TIMEOUT
from tests.factories import job_in
from tests.processes import dead_process, running_process

NOBODY: set[int] = set()


def none_active(job_ids: Collection[int]) -> set[int]:
    return NOBODY


@pytest.fixture
def mine(tmp_path: Path) -> Folders:
    return Folders(tmp_path, owner_name(this_process()))


def scratch_of(owner: str, root: Path) -> Path:
    """A scratch directory with something in it."""
    scratch = Folders(root, owner).make_scratch(ClaimRef(1, uuid4()))
    (scratch / "part").write_text("half a file")
    return scratch


def test_the_name_of_an_owner_names_its_process_for_good():
    here = replace(this_process(), hostname="")
    assert process_named(owner_name(here)) == here
    assert folders_of_this_process().owner == owner_name(here)


@pytest.mark.parametrize("name", ["", "somebody", "a_b_c_d", "boot_1_2", "boot_1_2_3_4", "boot_1_²_3"])
def test_a_name_that_is_nobodys_names_nobody(name):
    assert process_named(name) is None


def test_the_scratch_of_the_dead_goes_and_that_of_the_living_stays(mine: Folders, tmp_path: Path):
    own, dead = scratch_of(mine.owner, tmp_path), scratch_of(owner_name(dead_process()), tmp_path)
    with running_process() as (_, other):
        living = scratch_of(owner_name(other), tmp_path)
        remove_leftovers(mine, none_active)
        assert [own.exists(), living.exists(), dead.exists()] == [True, True, False]
    remove_leftovers(mine, none_active)
    assert [own.exists(), living.exists()] == [True, False]


@pytest.mark.parametrize(
    "elsewhere",
    [{"boot_id": "of another machine"}, {"pid_namespace": 4711}, {"start_ticks": 0}],
    ids=["machine", "container", "unknown"],
)
def test_nothing_is_taken_from_whoever_cannot_be_proven_dead(mine: Folders, tmp_path: Path, elsewhere):
    scratch = scratch_of(owner_name(replace(dead_process(), **elsewhere)), tmp_path)
    strange = scratch_of("somebody's own idea of a name", tmp_path)
    remove_leftovers(mine, none_active)
    assert scratch.exists()
    assert strange.exists()


@pytest.mark.django_db
def test_the_workdirs_of_jobs_that_ended_go_and_those_of_jobs_that_may_still_run_stay(
    mine: Folders, client: DatabaseClient
):
    ended = [job_in(status).pk for status in (Status.COMPLETED, Status.FAILED, Status.CANCELLED)]
    kept = [job_in(status).pk for status in (Status.RUNNING, Status.PENDING)]
    deleted = max(kept + ended) + 1
    for job_id in (*kept, *ended, deleted):
        mine.make_workdir(job_id)
    remove_leftovers(mine, client.needing_workdir)
    assert mine.workdirs() == sorted(kept)


@pytest.mark.django_db
def test_the_workdir_of_a_failed_job_stays_where_that_is_wanted_until_the_job_is_gone(
    mine: Folders, client: DatabaseClient, settings
):
    settings.JOBS_CLEANUP_PARTIAL_ON_FAILURE = False
    failed, completed = job_in(Status.FAILED).pk, job_in(Status.COMPLETED).pk
    for job_id in (failed, completed, failed + completed):
        mine.make_workdir(job_id)
    remove_leftovers(mine, client.needing_workdir)
    assert mine.workdirs() == [failed]


def test_a_job_that_begins_anew_while_a_large_directory_is_deleted_keeps_what_it_writes(
    mine: Folders, monkeypatch: pytest.MonkeyPatch
):
    jobs = [1, 2, 3]
    retried, delete = list(jobs), shutil.rmtree

    def delete_for_long(path: Path) -> None:
        while retried:  # by somebody, while the first is deleted; and they begin here
            (mine.make_workdir(retried.pop()) / "part").write_text("new")
        delete(path)

    for job_id in jobs:
        (mine.make_workdir(job_id) / "part").write_text("of an attempt that failed")
    monkeypatch.setattr(shutil, "rmtree", delete_for_long)
    remove_leftovers(mine, none_active)
    assert [(mine.workdir_of(job_id) / "part").read_text() for job_id in jobs] == ["new"] * 3
    assert list(mine.scratch_of(ClaimRef(1, uuid4())).parent.iterdir()) == [], "what failed is gone"


def test_where_there_are_no_workdirs_nobody_is_asked(mine: Folders):
    def ask(job_ids: Collection[int]) -> set[int]:
        raise AssertionError("why ask?")

    remove_leftovers(mine, ask)


# The janitor


@pytest.fixture
def janitor(mine: Folders) -> Iterator[Janitor]:
    janitor = Janitor(mine)
    janitor.start()
    yield janitor
    janitor.close(LastWaits(TIMEOUT))


class Slow:
    """A removal that takes as long as the test wants."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go_on, self.removed = threading.Event(), list[Path]()
        monkeypatch.setattr(housekeeping, "remove", self.remove)

    def remove(self, path: Path) -> None:
        assert self.go_on.wait(TIMEOUT)
        self.removed.append(path)
        remove(path)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, janitor: Janitor) -> Iterator[Slow]:
    slow = Slow(monkeypatch)
    yield slow
    slow.go_on.set()


def test_however_much_there_is_to_remove_it_starts_no_thread_and_all_is_gone_when_it_is_closed(
    janitor: Janitor, slow: Slow, mine: Folders
):
    """At the limit of threads there would be none."""
    threads, claims = threading.active_count(), [ClaimRef(number, uuid4()) for number in range(5)]
    scratch = [mine.make_scratch(claim) for claim in claims]
    for number in range(5):
        mine.make_workdir(number)
        janitor.remove_scratch(claims[number])
    janitor.remove_workdirs(range(5))
    assert threading.active_count() == threads
    assert all(each.exists() for each in scratch)
    slow.go_on.set()
    janitor.close(LastWaits(TIMEOUT))
    assert not any(each.exists() for each in scratch)
    assert (mine.workdirs(), mine.owners(), janitor.is_alive()) == ([], [], False)


def test_a_job_that_runs_again_finds_an_empty_place_though_its_old_directory_is_not_gone(
    janitor: Janitor, slow: Slow, mine: Folders
):
    (mine.make_workdir(7) / "old").touch()
    janitor.remove_workdirs([7])
    (mine.make_workdir(7) / "new").touch()
    slow.go_on.set()
    janitor.close(LastWaits(TIMEOUT))
    assert [path.name for path in mine.workdir_of(7).iterdir()] == ["new"]
    assert len(slow.removed) == 1


def test_whoever_closes_it_waits_no_longer_than_it_wants(janitor: Janitor, slow: Slow, mine: Folders, caplog):
    mine.make_scratch(claim := ClaimRef(1, uuid4()))
    janitor.remove_scratch(claim)
    janitor.close(LastWaits(0))
    assert janitor.is_alive()
    assert "directories are left for another worker to remove" in caplog.text


def test_what_cannot_be_looked_at_is_said_once_and_left(janitor: Janitor, mine: Folders, monkeypatch, caplog):
    def fail() -> list[int]:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(mine, "workdirs", fail)
    for _ in range(3):
        janitor.remove_workdirs([7])
    assert caplog.text.count("Too many open files") == 1


def test_what_a_worker_moved_away_and_had_no_time_to_remove_is_removed_after_its_end(
    mine: Folders, tmp_path: Path, monkeypatch
):
    dead = Folders(tmp_path, owner_name(dead_process()))
    dead.make_workdir(7)
    with monkeypatch.context() as in_vain:
        in_vain.setattr(folders_module, "remove", lambda path: None)
        dead.remove_workdir(7)
    assert mine.owners() == [dead.owner]
    remove_leftovers(mine, none_active)
    assert mine.owners() == []
