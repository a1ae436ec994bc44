"""Folders of attempts and jobs: made for us alone, found by their owner, removed without following links."""

import os
import tempfile
from pathlib import Path
from uuid import uuid4

import pytest

from jobs.exceptions import FolderRefused, InvalidInput
from jobs.handlers import folders as module
from jobs.handlers.base import ClaimRef
from jobs.handlers.context import Context
from jobs.handlers.folders import Folders, default_root, work_root
from tests.handlers.reporter import Flags, Remembering, a_claimed_job

CLAIM = ClaimRef(7, uuid4())


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "root", "worker-1")


def mode(path: Path) -> str:
    return oct(path.lstat().st_mode & 0o777)


def test_each_attempt_has_a_scratch_and_each_job_a_workdir(folders: Folders):
    assert folders.scratch_of(CLAIM) == folders.root / "scratch" / "worker-1" / f"7-{CLAIM.claim_id.hex[:8]}"
    assert folders.workdir_of(7) == folders.root / "work" / "7"


def test_they_are_for_us_alone(folders: Folders):
    umask = os.umask(0)
    try:
        for path in (folders.make_scratch(CLAIM), folders.make_workdir(7)):
            assert path.is_dir()
            for each in (path, *path.parents):
                if folders.root in (each, *each.parents):
                    assert mode(each) == "0o700"
    finally:
        os.umask(umask)


def test_a_context_makes_them_when_they_are_first_used(folders: Folders):
    job = a_claimed_job()
    ctx = Context(job, Remembering(), Flags(), folders)
    assert not folders.root.exists()
    assert ctx.scratch == ctx.scratch == folders.scratch_of(job.claim)
    assert ctx.workdir == folders.workdir_of(7)
    assert ctx.scratch.is_dir()
    assert ctx.workdir.is_dir()


def test_a_context_without_folders_says_so():
    with pytest.raises(InvalidInput, match="made without folders"):
        _ = Context(a_claimed_job(), Remembering(), Flags()).scratch


def test_removing_one_leaves_the_others(folders: Folders):
    other = ClaimRef(7, uuid4())
    (folders.make_scratch(CLAIM) / "part").write_text("x")
    folders.make_scratch(other)
    (folders.make_workdir(7) / "part").write_text("x")
    folders.make_workdir(70)
    folders.remove_scratch(CLAIM)
    folders.remove_workdir(7)
    assert not folders.scratch_of(CLAIM).exists()
    assert folders.scratch_of(other).exists()
    assert folders.workdirs() == [70]


def test_owners_and_jobs_are_found_by_their_folders(folders: Folders):
    assert (folders.owners(), folders.workdirs()) == ([], [])
    folders.make_scratch(CLAIM)
    Folders(folders.root, "worker-2").make_scratch(CLAIM)
    folders.make_workdir(12)
    (folders.root / "work" / "lost+found").mkdir()
    assert (folders.owners(), folders.workdirs()) == (["worker-1", "worker-2"], [12])
    folders.remove_owner()
    assert folders.owners() == ["worker-2"]


@pytest.mark.parametrize("name", ["..", ".", "../../etc", "a/b", "ü%2F", "box 1", ".hidden"])
def test_an_owner_s_name_stays_inside(folders: Folders, name):
    mine = Folders(folders.root, name)
    scratch = mine.make_scratch(CLAIM)
    assert scratch.resolve().parent.parent == folders.root / "scratch"
    assert mine.owners() == [name]
    mine.remove_owner()
    assert mine.owners() == []


def test_removing_what_is_not_there_is_no_error(folders: Folders, caplog):
    folders.remove_scratch(CLAIM)
    folders.remove_workdir(7)
    folders.remove_owner()
    assert caplog.text == ""


def test_removing_does_not_follow_links(folders: Folders, tmp_path: Path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("x")
    (folders.make_scratch(CLAIM) / "link").symlink_to(tmp_path / "precious")
    folders.remove_scratch(CLAIM)
    folders.make_workdir(8)
    folders.workdir_of(7).symlink_to(tmp_path / "precious")
    folders.remove_workdir(7)
    assert folders.workdirs() == [8]
    assert (tmp_path / "precious" / "file").read_text() == "x"


def test_read_only_folders_are_removed(folders: Folders):
    deep = folders.make_scratch(CLAIM) / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "file").write_text("x")
    for path in (deep, deep.parent):
        path.chmod(0o500)
    (deep.parent.parent / "link").symlink_to("/")
    module.make_writable(folders.scratch_of(CLAIM))  # root would not need it
    assert mode(deep) == mode(deep.parent) == "0o700"
    folders.remove_scratch(CLAIM)
    assert not folders.scratch_of(CLAIM).exists()


def test_what_cannot_be_removed_is_logged(folders: Folders, monkeypatch, caplog):
    def fail(path: Path) -> None:
        raise OSError("device is busy")

    folders.make_scratch(CLAIM)
    monkeypatch.setattr(module.shutil, "rmtree", fail)
    folders.remove_scratch(CLAIM)
    assert "could not be removed: device is busy" in caplog.text


def test_a_workdir_that_cannot_be_moved_away_is_logged_and_the_others_go(folders: Folders, monkeypatch, caplog):
    rename = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if path == folders.workdir_of(7):
            raise OSError("device is busy")
        return rename(path, target)

    for job_id in (6, 7, 8):
        folders.make_workdir(job_id)
    monkeypatch.setattr(Path, "rename", refuse)
    folders.remove_workdirs([6, 7, 8])
    assert folders.workdirs() == [7]
    assert "could not be moved away: device is busy" in caplog.text


def test_a_root_of_somebody_else_is_refused(folders: Folders, monkeypatch):
    folders.make_workdir(7)
    monkeypatch.setattr(module.os, "geteuid", lambda: 4711)
    with pytest.raises(FolderRefused, match=r"it belongs to user \d+, not to 4711. Set JOBS_WORK_DIR"):
        folders.make_scratch(CLAIM)


def test_a_root_that_is_a_link_is_refused(folders: Folders, tmp_path: Path):
    for target in (tmp_path / "there", tmp_path / "nowhere"):
        folders.root.unlink(missing_ok=True)
        (tmp_path / "there").mkdir(exist_ok=True)
        folders.root.symlink_to(target)
        with pytest.raises(FolderRefused, match="it is a symbolic link"):
            folders.make_scratch(CLAIM)
    assert list((tmp_path / "there").iterdir()) == []


def test_a_root_that_everybody_may_write_to_or_that_is_a_file_is_refused(folders: Folders, tmp_path: Path):
    folders.root.mkdir()
    folders.root.chmod(0o777)
    with pytest.raises(FolderRefused, match="everybody may write to it"):
        folders.make_scratch(CLAIM)
    (tmp_path / "file").write_text("x")
    with pytest.raises(FolderRefused, match="File exists"):
        Folders(tmp_path / "file", "w").make_scratch(CLAIM)


def test_the_default_root_is_one_for_each_user_and_database(settings, monkeypatch):
    first = default_root()
    assert first.parent == Path(tempfile.gettempdir())
    assert first.name.startswith(f"jobyard-{os.geteuid()}-")
    assert len(first.name.rsplit("-", 1)[1]) == 8
    monkeypatch.setitem(settings.DATABASES["default"], "NAME", "another")
    assert default_root() != first


def test_the_setting_names_the_root(settings, tmp_path: Path, monkeypatch):
    assert work_root() == default_root()
    settings.JOBS_WORK_DIR = str(tmp_path)
    assert work_root() == tmp_path
    monkeypatch.chdir(tmp_path)
    settings.JOBS_WORK_DIR = "beside"
    assert work_root() == tmp_path / "beside"
