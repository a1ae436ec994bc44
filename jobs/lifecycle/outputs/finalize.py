"""Finalize: the worker says which files there are, and each is looked at before anything is made of them.

The files are read outside of any transaction: that may take a while, in which they are frozen. The claim is asked for
again at the end.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict

from django.core.files.storage import Storage

from jobs.db import Now, transactional
from jobs.handlers.base import ClaimRef
from jobs.handlers.files import files_below, local_path
from jobs.handlers.reach import Reach
from jobs.lifecycle.fence import lock_one
from jobs.lifecycle.outputs.freeze import frozen, mine
from jobs.lifecycle.outputs.take import renew
from jobs.models import Output
from jobs.serving.stored_file import find
from jobs.uploads.errors import AlreadyFinal, BeingChecked, NotArrived
from jobs.uploads.limits import Limits
from jobs.uploads.paths import checked_path
from jobs.uploads.receiving import Arrived, Landing, digest_of

SHOWN = 100  # missing files that are named


def finalize(claim: ClaimRef, reach: Reach, storage: Storage, manifest: Sequence[Arrived]) -> None:
    """Raises NotArrived, or what the kind's own check raises; then the worker may send what is missing, and repeat."""
    manifest = checked(manifest, reach)
    mark = mark_of(manifest)
    try:
        with frozen(claim, reach.writes) as output:
            require_all(output, storage, manifest)
            remove_others(output, storage, manifest)
            if reach.check:
                reach.check(storage, output.folder)
            close(output, claim, mark)
    except AlreadyFinal:
        if not Output.objects.filter(claim_id=claim.claim_id, manifest=mark).exists():
            raise
        renew(claim)  # it was heard already, and the answer got lost


def checked(manifest: Sequence[Arrived], reach: Reach) -> list[Arrived]:
    limits = Limits()
    for file in manifest:
        limits.new_file(checked_path(file.path, reach.suffixes))
    return sorted({file.path: file for file in manifest}.values(), key=lambda file: file.path)


def mark_of(manifest: Sequence[Arrived]) -> str:
    return hashlib.sha256(json.dumps([asdict(file) for file in manifest]).encode()).hexdigest()


def require_all(output: Output, storage: Storage, manifest: Sequence[Arrived]) -> None:
    arrived = {file.path: file for file in output.arrived()}
    missing = [file.path for file in manifest if not is_there(output, storage, file, arrived.get(file.path))]
    if missing:
        raise NotArrived(number=len(missing), path=missing[0], missing=missing[:SHOWN])


def is_there(output: Output, storage: Storage, file: Arrived, arrived: Arrived | None) -> bool:
    """What was uploaded is known by its hash; what came by a storage that both sides see is read for it."""
    stored = find(storage, f"{output.folder}/{file.path}")
    if stored is None or stored.size != file.size:
        return False
    if arrived:
        return arrived == file
    with storage.open(stored.name) as content:
        return digest_of(content) == file.sha256


def remove_others(output: Output, storage: Storage, manifest: Sequence[Arrived]) -> None:
    """What an earlier try sent and nobody needs now: nothing is published by accident."""
    landing, wanted = Landing(storage, output.folder), {file.path for file in manifest}
    landing.sweep()
    place = local_path(storage, output.folder)
    there = [file.path for file in output.arrived()]
    if place is not None:
        there = [os.path.relpath(path, place) for path in files_below(place)]
    for path in there:
        if path not in wanted:
            landing.remove(path)


@transactional
def close(output: Output, claim: ClaimRef, mark: str) -> None:
    """Only by the check that froze them: another took over where this one was silent for too long."""
    lock_one(claim)
    if not mine(output).update(finalized_at=Now(), manifest=mark, check_id=None):
        raise BeingChecked
