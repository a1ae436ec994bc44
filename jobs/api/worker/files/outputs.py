"""What a worker made: it arrives file by file or as an archive, and counts once its manifest has been looked at."""

import hashlib
import re
from functools import partial
from typing import Any

from django.http import HttpRequest
from ninja import Field, Router, Schema
from pydantic import ValidationError

from jobs.api.admission import length_of
from jobs.api.errors import ApiError, invalid
from jobs.api.validation import refusal
from jobs.api.worker.access import WorkerAccess, claim_in_header, worker_of
from jobs.conf import conf
from jobs.handlers.base import ClaimRef
from jobs.handlers.files import job_storage, local_path
from jobs.handlers.reach import Reach
from jobs.lifecycle.outputs import finalize as finalizing
from jobs.lifecycle.outputs import take
from jobs.models import Output
from jobs.selectors.outputs import reach_of
from jobs.uploads.archive import files_in
from jobs.uploads.errors import NotArrived, WrongContent
from jobs.uploads.limits import Limits
from jobs.uploads.paths import checked_path
from jobs.uploads.receiving import BLOCK, Announced, Arrived, Landing, Read
from jobs.wire.names import SHA256_HEADER

SHA256 = re.compile(r"[0-9a-f]{64}")
LARGEST_MANIFEST = 32 * 1024 * 1024
SMALLEST_ENTRY = 90  # bytes: the names of its fields, and a SHA-256
MARKS = (b"{", b"[", b",")  # each thing that JSON tells of has one of these before or after it
MARKS_OF_A_FILE = 8  # a brace and three commas, and room for fields that a newer worker sends
RENEW_EVERY = 5.0  # seconds: so often a long upload renews its lease, and hears whether the claim is lost
router = Router(tags=["Files of a remote worker"])
READ = WorkerAccess()


UPLOAD = WorkerAccess(takes_body=True, streams=True, largest=lambda: conf.UPLOAD_MAX_FILE)
ARCHIVE = WorkerAccess(takes_body=True, streams=True, largest=lambda: conf.UPLOAD_MAX_TOTAL)
MANIFEST = WorkerAccess(takes_body=True, streams=True, largest=lambda: LARGEST_MANIFEST)


class ArrivedFile(Schema):
    path: str = Field(description="Below the folder of this attempt.")
    size: int = Field(description="Bytes.")
    sha256: str


class Handed(Schema):
    folder: str = Field(description="Where the files go, in the storage.")
    finalized: bool
    files: list[ArrivedFile] = Field(description="What has arrived, whole and checked.")
    path: str | None = Field(None, description="Where the folder is on the server, for workers that share its disk.")


class Manifest(Schema):
    files: list[ArrivedFile] = Field(fail_fast=True, max_length=LARGEST_MANIFEST // SMALLEST_ENTRY)


@router.get("/{int:job_id}/files", summary="See what has arrived", **READ.options(Handed, 404, 409))
def list_files(request: HttpRequest, job_id: int, paths: bool = False) -> Any:
    """What has arrived for this attempt. Ask it after a break, and send what is missing.

    With `paths`, also where the folder is on the server's disk, to write there.
    """
    claim, reach = claim_and_reach(request, job_id)
    output = Output.objects.of(claim)
    place = local_path(job_storage(), reach.writes) if paths and reach.writes else None
    if place and output is None:
        output = take.begin(claim, reach.writes)  # whatever is written there, somebody knows of it
    return {
        "folder": reach.writes,
        "finalized": bool(output and output.finalized_at),
        "files": [vars(file) for file in output.arrived()] if output else [],
        "path": str(place) if place else None,
    }


@router.put(
    "/{int:job_id}/files/{path:path}",
    summary="Hand over a file",
    **UPLOAD.options(ArrivedFile, 404, 408, 409, 411, 507),
)
def put_file(request: HttpRequest, job_id: int, path: str) -> Any:
    """One file; its SHA-256 in the header X-Content-SHA256. Sent again, it takes the place of the first."""
    claim, reach = claim_and_reach(request, job_id)
    announced = Announced(checked_path(path, reach.suffixes), announced_length(request), announced_hash(request))
    output = take.begin(claim, reach.writes)
    return vars(land(output, claim, announced, request.read, limits_of(output, claim)))


@router.put(
    "/{int:job_id}/archive", summary="Hand over many at once", **ARCHIVE.options(Handed, 404, 408, 409, 411, 507)
)
def put_archive(request: HttpRequest, job_id: int) -> Any:
    """Many files as one tar.gz; the SHA-256 of the archive in the header. What came before a fault is kept."""
    claim, reach = claim_and_reach(request, job_id)
    body = Body(request)
    output = take.begin(claim, reach.writes)
    limits = limits_of(output, claim)
    for announced, read in files_in(body.read, reach.suffixes, limits):
        land(output, claim, announced, read, limits)
    body.finish(limits)
    return list_files(request, job_id)


@router.post("/{int:job_id}/finalize", summary="Say that this is all", **MANIFEST.options(Handed, 404, 409, 411))
def finalize_files(request: HttpRequest, job_id: int) -> Any:
    """All files there are, with size and SHA-256. They are compared and checked; the job may be completed after."""
    claim, reach = claim_and_reach(request, job_id)
    try:
        finalizing.finalize(claim, reach, job_storage(), read_manifest(request))
    except NotArrived as error:
        raise ApiError(409, "incomplete", str(error), missing=error.missing) from None
    return list_files(request, job_id)


class Body:
    """An archive's bytes as they come, hashed: whether all of it came is known at its end alone."""

    def __init__(self, request: HttpRequest) -> None:
        self._request, self._left = request, announced_length(request)
        self._announced, self._digest = announced_hash(request), hashlib.sha256()

    def read(self, size: int) -> bytes:
        block = self._request.read(min(size, self._left))
        self._digest.update(block)
        self._left -= len(block)
        return block

    def finish(self, limits: Limits) -> None:
        while self.read(BLOCK):
            limits.tick()
        if self._left or self._digest.hexdigest() != self._announced:
            raise WrongContent(path="The archive", why="it is shorter than announced, or has another SHA-256")


def claim_and_reach(request: HttpRequest, job_id: int) -> tuple[ClaimRef, Reach]:
    claim = claim_in_header(request, job_id)
    return claim, reach_of(claim, worker_of(request).pk)


def land(output: Output, claim: ClaimRef, announced: Announced, read: Read, limits: Limits) -> Arrived:
    take.require_room(output, announced)
    landing = Landing(job_storage(), output.folder)
    return landing.receive(announced, read, limits, partial(take.note, output, claim))


def limits_of(output: Output, claim: ClaimRef) -> Limits:
    every = min(RENEW_EVERY, conf.CLAIM_DURATION / 4)
    return Limits(go_on=partial(take.begin, claim, output.folder), every=every)


def announced_length(request: HttpRequest) -> int:
    if "Content-Length" not in request.headers:
        raise ApiError(411, "length_required", "Send the file with a Content-Length.")
    return length_of(request)


def announced_hash(request: HttpRequest) -> str:
    told = request.headers.get(SHA256_HEADER, "").lower()
    if not SHA256.fullmatch(told):
        raise invalid(f"Send the SHA-256 of the body in the header {SHA256_HEADER}: 64 hexadecimal digits.")
    return told


def read_manifest(request: HttpRequest) -> list[Arrived]:
    """By hand: Django reads no more than DATA_UPLOAD_MAX_MEMORY_SIZE, and 50,000 files take more."""
    body = request.read(LARGEST_MANIFEST)
    if sum(map(body.count, MARKS)) > MARKS_OF_A_FILE * (conf.UPLOAD_MAX_FILES + 1):  # read, it would take gigabytes
        raise invalid(f"The manifest tells of more than {conf.UPLOAD_MAX_FILES} files (JOBS_UPLOAD_MAX_FILES).")
    try:
        files = Manifest.model_validate_json(body).files
    except ValidationError as error:
        raise refusal([{**each, "loc": ("body", "manifest", *each["loc"])} for each in error.errors()]) from None
    if not all(SHA256.fullmatch(file.sha256) and file.size >= 0 for file in files):
        raise invalid("Each file of the manifest has a size, and a SHA-256 of 64 hexadecimal digits.")
    return [Arrived(file.path, file.size, file.sha256) for file in files]
