"""What a worker may read of its job's files: told with `sources`, sent with `source`."""

from typing import Any

from django.core.cache import cache
from django.core.files.storage import FileSystemStorage, Storage
from django.http import HttpRequest, HttpResponseBase
from ninja import Field, Router, Schema

from jobs.api.errors import ApiError, not_found
from jobs.api.worker.access import WorkerAccess, claim_in_header, worker_of
from jobs.handlers.files import job_storage, local_path
from jobs.handlers.reach import Reach
from jobs.selectors.outputs import reach_of
from jobs.serving.content import content
from jobs.serving.stored_file import StoredFile, find
from jobs.uploads.receiving import digest_of
from jobs.wire.names import SHA256_HEADER

REMEMBERED = 7 * 86_400  # seconds that a computed hash is kept
READ_WITHIN = 120  # seconds: after that a reader counts as killed with its server, and another may begin
router = Router(tags=["Files of a remote worker"])
READ = WorkerAccess()


class SourceFile(Schema):
    name: str = Field(description="Its name in the storage.")
    size: int = Field(description="Bytes.")
    sha256: str | None = Field(description="None: not known yet; the answer with the file has it.")
    url: str | None = Field(None, description="Where the storage itself sends it, signed; ask there, without your key.")
    path: str | None = Field(None, description="Where it is on the server, for workers that share its disk.")


class Sources(Schema):
    files: list[SourceFile] = Field(description="The first one is the job's source.")


@router.get("/{int:job_id}/sources", summary="See what may be read", **READ.options(Sources, 404, 409))
def list_sources(request: HttpRequest, job_id: int, folder: str = "", paths: bool = False) -> Any:
    """What the worker may read for this job: the files that the kind names, or those in a folder of these.

    With `paths`, also where they are on the server's disk.
    """
    reach, storage = reach_for(request, job_id), job_storage()
    names = names_in(folder, reach, storage) if folder else list(reach.reads)
    found = [found for name in names if (found := find(storage, name))]
    return {"files": [told(file, reach, paths) for file in found]}


@router.get("/{int:job_id}/source", summary="Read a file", **READ.options(None, 404, 409))
def get_source(request: HttpRequest, job_id: int, name: str = "") -> Any:
    """The job's source, or another of its files by name. Ranges, If-Range with the ETag, SHA-256 of the whole file."""
    reach = reach_for(request, job_id)
    name = name or next(iter(reach.reads), "")
    stored = find(job_storage(), name) if name and reach.may_read(name) else None
    if stored is None:
        raise not_found("This job has no such file to read.")
    return sent(request, hashed(stored, reach))


def sent(request: HttpRequest, file: StoredFile) -> HttpResponseBase:
    request.method = request.META["REQUEST_METHOD"]  # the API lets HEAD pass as GET: here it would read the whole file
    response = content(request, file, "application/octet-stream")
    response["ETag"] = file.etag
    response[SHA256_HEADER] = file.sha256
    return response


def reach_for(request: HttpRequest, job_id: int) -> Reach:
    return reach_of(claim_in_header(request, job_id), worker_of(request).pk)


def names_in(folder: str, reach: Reach, storage: Storage) -> list[str]:
    if not reach.may_read(f"{folder}/"):
        raise not_found("This job has no such folder to read.")
    try:
        return [f"{folder}/{file}" for file in sorted(storage.listdir(folder)[1])]
    except (FileNotFoundError, NotADirectoryError):
        raise not_found("There is no such folder any more.") from None


def told(file: StoredFile, reach: Reach, paths: bool) -> dict[str, Any]:
    place = local_path(file.storage, file.name) if paths else None
    return {
        "name": file.name,
        "size": file.size,
        "sha256": reach.reads.get(file.name) or None,
        "url": signed_url(file),
        "path": str(place) if place else None,
    }


def signed_url(file: StoredFile) -> str | None:
    """Of a storage elsewhere that signs what it gives out, as those of S3 and the like do: it has a query, then."""
    if isinstance(file.storage, FileSystemStorage):
        return None
    try:
        url = file.storage.url(file.name)
    except NotImplementedError:
        return None
    return url if url.startswith(("https://", "http://")) and "?" in url else None


def hashed(file: StoredFile, reach: Reach) -> StoredFile:
    """With its SHA-256: the kind's word, or read once for it and remembered while the file stays as it is."""
    known = reach.reads.get(file.name)
    if not known:
        key = f"jobyard:sha256:{file.name}:{file.etag}".replace(" ", "%20")
        known = cache.get(key) or read_once(file, key)
    return StoredFile(file.storage, file.name, file.size, file.modified, known)


def read_once(file: StoredFile, key: str) -> str:
    """By one at a time, as far as the cache is shared: a worker that waited too long asks again while it is read."""
    if not cache.add(f"{key}:read", True, READ_WITHIN):
        message = "The file is being read for its SHA-256; call again in a moment."
        raise ApiError(503, "busy", message, {"Retry-After": "5"})
    try:
        known = read_for_hash(file)
        cache.set(key, known, REMEMBERED)
    finally:
        cache.delete(f"{key}:read")
    return known


def read_for_hash(file: StoredFile) -> str:
    with file.storage.open(file.name) as opened:
        return digest_of(opened)
