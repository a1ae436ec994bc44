"""The directories of attempts and jobs on this machine: where they are, made for us alone, and removed."""

import hashlib
import logging
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Collection, Iterable
from pathlib import Path
from urllib.parse import quote, unquote
from uuid import uuid4

from django.conf import settings

from jobs.conf import conf
from jobs.exceptions import FolderRefused
from jobs.handlers.base import ClaimRef
from jobs.states import TERMINAL, Status

logger = logging.getLogger("jobs.folders")

FOR_US_ALONE = 0o700


def ends_workdir() -> Collection[Status]:
    """The states in which a job needs its directory no more. What failed may be kept for a look, or for a retry."""
    return TERMINAL if conf.CLEANUP_PARTIAL_ON_FAILURE else [status for status in TERMINAL if status != Status.FAILED]


def work_root(server: str = "") -> Path:
    """Where all folders are: JOBS_WORK_DIR, or a place of our own."""
    return Path(conf.WORK_DIR).expanduser().absolute() if conf.WORK_DIR else default_root(server)


def default_root(server: str = "") -> Path:
    """A directory in the system's temporary one, the same for all workers of this user and database, or server."""
    database = settings.DATABASES.get("default", {})
    about = server or "\n".join(str(database.get(key, "")) for key in ("NAME", "HOST", "PORT"))
    name = f"jobyard-{os.geteuid()}-{hashlib.sha256(about.encode()).hexdigest()[:8]}"
    return Path(tempfile.gettempdir()).absolute() / name


class Folders:
    """Those of one owner, a worker: `scratch` for each attempt, `work` for each job, shared by all owners."""

    def __init__(self, root: Path, owner: str) -> None:
        self.root, self.owner = root, owner
        self._scratch, self._work = root / "scratch", root / "work"

    def scratch_of(self, claim: ClaimRef) -> Path:
        return self._of_owner / f"{claim.job_id}-{claim.claim_id.hex[:8]}"

    def workdir_of(self, job_id: int) -> Path:
        return self._work / str(job_id)

    def make_scratch(self, claim: ClaimRef) -> Path:
        return self._made(self.scratch_of(claim))

    def make_workdir(self, job_id: int) -> Path:
        return self._made(self.workdir_of(job_id))

    def remove_scratch(self, claim: ClaimRef) -> None:
        remove(self.scratch_of(claim))

    def remove_workdir(self, job_id: int) -> None:
        self.remove_workdirs([job_id])

    def remove_workdirs(self, job_ids: Iterable[int]) -> None:
        """All are set aside first: to delete one may take minutes, in which a job that was retried begins anew."""
        doomed: list[Path | None] = []
        for job_id in job_ids:
            try:
                doomed.append(self.set_aside(job_id))
            except OSError as error:
                logger.warning("the directory %s could not be moved away: %s", self.workdir_of(job_id), error)
        for path in filter(None, doomed):
            remove(path)

    def set_aside(self, job_id: int) -> Path | None:
        """Where the workdir is now, for us to remove: an attempt that begins finds none, never half a directory."""
        doomed = self._of_owner / f"removed-{job_id}-{uuid4().hex}"
        try:
            doomed.parent.mkdir(mode=FOR_US_ALONE, parents=True, exist_ok=True)
            self.workdir_of(job_id).rename(doomed)
        except FileNotFoundError:
            return None
        return doomed

    def remove_owner(self) -> None:
        remove(self._of_owner)

    def owners(self) -> list[str]:
        """Who has, or left, scratch directories here."""
        return sorted(unquote(name) for name in names_in(self._scratch))

    def workdirs(self) -> list[int]:
        """The jobs that have a workdir here."""
        return sorted(int(name) for name in names_in(self._work) if name.isascii() and name.isdecimal())

    @property
    def _of_owner(self) -> Path:
        return self._scratch / file_name(self.owner)

    def _made(self, path: Path) -> Path:
        make_root(self.root)
        for folder in reversed([path, *path.relative_to(self.root).parents[:-1]]):
            (self.root / folder).mkdir(mode=FOR_US_ALONE, exist_ok=True)
        return path


def make_root(root: Path) -> None:
    try:
        if not root.is_symlink():
            root.mkdir(mode=FOR_US_ALONE, parents=True, exist_ok=True)
        check_root(root)
    except OSError as error:
        raise FolderRefused(path=root, why=error.strerror or str(error)) from error


def check_root(root: Path) -> None:
    """In a temporary directory anybody may have been there before us, to read or redirect what we write."""
    found = root.lstat()
    if stat.S_ISLNK(found.st_mode):
        raise FolderRefused(path=root, why="it is a symbolic link")
    if found.st_uid != os.geteuid():
        raise FolderRefused(path=root, why=f"it belongs to user {found.st_uid}, not to {os.geteuid()}")
    if found.st_mode & stat.S_IWOTH:
        raise FolderRefused(path=root, why="everybody may write to it")


def file_name(owner: str) -> str:
    """A name that stays inside its folder, and from which the owner can be read again."""
    name = quote(owner, safe=" @+,=")
    return name.replace(".", "%2E", 1) if name.startswith(".") else name or "unnamed"


def names_in(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


def remove(path: Path) -> None:
    """Remove a directory and all in it, never what a link in it points to; what cannot be removed is logged."""
    try:
        if path.is_symlink():
            return path.unlink()
        try:
            shutil.rmtree(path)
        except PermissionError:
            make_writable(path)  # an unpacked archive may have brought read-only directories
            shutil.rmtree(path)
    except FileNotFoundError:
        return None
    except RecursionError:  # deeper than Python can follow
        subprocess.run(["rm", "-rf", "--", str(path)], check=False)  # noqa: S603, S607  a path of our own making
    except OSError as error:
        logger.warning("the directory %s could not be removed: %s", path, error)
    return None


def make_writable(path: Path) -> None:
    path.chmod(FOR_US_ALONE)
    for folder, names, _ in os.walk(path):  # top down, so that each is readable before it is entered
        for name in names:
            if not os.path.islink(os.path.join(folder, name)):
                os.chmod(os.path.join(folder, name), FOR_US_ALONE)
