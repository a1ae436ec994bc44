"""Directories that nobody needs any more go, and those of whoever may still need them stay."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from jobs.handlers.base import ClaimRef
from jobs.handlers.folders import Folders
from jobs.process_identity import this_process
from jobs.states import Status
from jobs.worker.database_client import DatabaseClient
from jobs.worker.housekeeping import folders_of_this_process, owner_name, process_named, remove_leftovers
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


def test_where_there_are_no_workdirs_nobody_is_asked(mine: Folders):
    def ask(job_ids: Collection[int]) -> set[int]:
        raise AssertionError("why ask?")

    remove_leftovers(mine, ask)
