"""Who may call the worker API, and on which jobs: a worker sees and touches its own alone."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest

from jobs.api.access import Refusal
from jobs.api.admission import check_size, length_of, small
from jobs.api.bodies import JSON, check_type
from jobs.api.errors import not_found
from jobs.api.worker.authentication import authenticate, check_process
from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef
from jobs.lifecycle.ownership import owned
from jobs.models import Worker
from jobs.wire.names import CLAIM_HEADER

LAST_ID = 2**63 - 1


class WorkerAccess:
    """By the key of a worker, and by the process of it that started last.

    `largest` is how many bytes a body may have; none comes in chunks, of which nobody knows how many follow. `streams`:
    the body is no JSON that Django reads whole, but is read by the operation itself.
    """

    def __init__(
        self,
        *,
        takes_body: bool = True,
        largest: Callable[[], int] = small,
        streams: bool = False,
        any_process: bool = False,
    ) -> None:
        self.takes_body, self.largest, self.streams, self.any_process = takes_body, largest, streams, any_process

    def __call__(self, request: HttpRequest) -> Worker:
        worker = authenticate(request)
        if not self.any_process:
            check_process(request, worker)
        check_size(request, self.largest())
        if not self.streams and length_of(request):
            check_type(request, JSON)
        return worker

    def options(self, answer: Any, *errors: int) -> dict[str, Any]:
        """For ninja: the check, the answer's shape, and the errors that all operations have, with these."""
        of_bodies = (400, 411, 413, 415) if self.takes_body else ()
        statuses = sorted({401, 409, 422, 429, 503, *of_bodies, *errors})
        return {
            "auth": self,
            "response": {200: answer, **dict.fromkeys(statuses, Refusal)},
            "openapi_extra": {"security": [{"worker": []}]},
        }


def worker_of(request: HttpRequest) -> Worker:
    """Whom `WorkerAccess` admitted."""
    return request.auth  # type: ignore[attr-defined]  # set by ninja


def claim_of(request: HttpRequest, job_id: int, claim_id: UUID) -> ClaimRef:
    """A claim of the calling worker on this job. Whether it still holds is for the verb to say."""
    claim = ClaimRef(job_id, claim_id)
    if job_id > LAST_ID or claim not in owned(worker_of(request).pk, [claim]):
        raise not_found(f"There is no job {job_id} of yours.")
    return claim


def claim_in_header(request: HttpRequest, job_id: int) -> ClaimRef:
    """The same, where the claim id comes in a header."""
    text = request.headers.get(CLAIM_HEADER, "")
    try:
        return claim_of(request, job_id, UUID(text))
    except ValueError:
        raise InvalidInput(f"The header {CLAIM_HEADER} must be the claim's id, a UUID.") from None
