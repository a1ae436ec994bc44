"""The jobs that a new one waits for, by their ids."""

from collections.abc import Iterable, Mapping
from typing import Any

from jobs.exceptions import InvalidInput


def check_after(after: Any) -> tuple[int, ...]:
    """Ids, each once."""
    if isinstance(after, (str, bytes, Mapping)) or not isinstance(after, Iterable):
        raise InvalidInput(f"after must be a list of jobs to wait for, not {type(after).__name__}.")
    return tuple(sorted({id_of(each) for each in after}))


def id_of(job: Any) -> int:
    """Of an id, of what `enqueue` answered, or of a row."""
    job_id = job if isinstance(job, int) else getattr(job, "job_id", None) or getattr(job, "pk", None)
    if isinstance(job_id, bool) or not isinstance(job_id, int) or not 0 < job_id < 2**63:
        raise InvalidInput(f"after has {job!r}, which is no job: give ids, or what enqueue() returned.")
    return job_id
