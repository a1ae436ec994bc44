"""Which files a remote worker may read for a transcode, and what it may hand over: its source, and one new version, or
a chunk of one.
"""

import sys
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import Any

from django.core.files.storage import Storage

from jobs.exceptions import CommandTimedOut, InvalidInput, JobyardError
from jobs.handlers.base import ClaimRef
from jobs.handlers.commands import Commands
from jobs.handlers.reach import Reach
from jobs.machine import cpu_count
from jobs.models import Dependency
from jobs.videos.lifecycle.orders import TRANSCODE
from jobs.videos.models import Video
from jobs.videos.names import part_folder, parts_folder, version_folder, version_of
from jobs.videos.payload import Payload
from jobs.videos.stored import as_local_folder
from jobs.videos.transcoding.confined import confinement, environment_of_python

SUFFIXES = frozenset({".m3u8", ".m4s", ".mp4", ".jpg", ".json"})
CHUNK_SUFFIXES = frozenset({".mp4", ".json"})
CHILD = "jobs.videos.transcoding.check_child"
CHECK_SECONDS = 900.0  # for a film of three hours it takes one
BYTECODE = 1 << 20  # bytes: all that it may write, for it is asked to write nothing


class NotAsItShouldBe(InvalidInput):
    """The version is not as it should be: {problems}"""


class NotChecked(JobyardError):
    """The version could not be checked: {why}."""


def files_of(claim: ClaimRef, payload: Mapping[str, Any]) -> Reach:
    """The kind's word."""
    asked = Payload.read(**payload)
    carried = [version_folder(asked.video, asked.carry.version)] if asked.carry else []
    return Reach(
        reads=source_of(asked),
        folders=(parts_folder(asked.video), *carried),
        writes=version_folder(asked.video, version_of(claim.job_id, claim.claim_id)),
        suffixes=SUFFIXES,
        check=check_version,
    )


def files_of_part(claim: ClaimRef, payload: Mapping[str, Any]) -> Reach:
    """The same source, and one chunk. Whoever joins it compares its hash, and checks the whole.

    A remote worker may have written the payload: it counts if it is about the video of the job that spawned it.
    """
    asked = Payload.read(payload.get("video"), payload.get("source"))
    if not is_wanted(claim.job_id, asked):
        return Reach(reads={})
    return Reach(
        reads=source_of(asked),
        writes=part_folder(asked.video, version_of(claim.job_id, claim.claim_id)),
        suffixes=CHUNK_SUFFIXES,
    )


def is_wanted(job_id: int, asked: Payload) -> bool:
    parents = Dependency.objects.spawned().filter(needs=job_id, job__kind=TRANSCODE)
    return any(
        (payload.get("video"), payload.get("source")) == (asked.video, asked.source)
        for payload in parents.values_list("job__payload", flat=True)
    )


def source_of(asked: Payload) -> dict[str, str]:
    known = Video.objects.filter(pk=asked.video, source=asked.source).values_list("source_sha256", flat=True).first()
    return {asked.source: known or ""}


def check_version(storage: Storage, folder: str) -> None:
    """As its worker checked it, but that was elsewhere; in a process of its own, whatever the files do to it."""
    with as_local_folder(storage, folder) as place:
        problems = ask_child(place)
    if problems:
        raise NotAsItShouldBe(problems=problems)


def ask_child(place: Path) -> str:
    """Other people's files: it may no more than the probe may, which looks at such in a worker."""
    limits = confinement(cpu_seconds=ceil(CHECK_SECONDS * cpu_count()), file_size=BYTECODE)
    try:
        said = Commands(go_on).run(
            [sys.executable, "-m", CHILD, place],
            timeout=CHECK_SECONDS, check=False, env=environment_of_python(), confinement=limits,
        )  # fmt: skip
    except CommandTimedOut:
        raise NotChecked(why=f"that took longer than {CHECK_SECONDS:g} s") from None
    if said.returncode:
        raise NotChecked(why=f"the check ended with {said.returncode}: {said.stderr.strip()[-300:]}")
    return said.stdout.strip()


def go_on() -> None:
    """Nobody stops a check but its time."""
