"""A batch: jobs that belong together, and one more that runs when they have ended. That last one is the batch."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from jobs.db import transactional
from jobs.exceptions import InvalidInput
from jobs.handlers.batches import KIND
from jobs.lifecycle.checker import check
from jobs.lifecycle.enqueue import insert_batch
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.new_job import NewJob
from jobs.models import Dependency
from jobs.models.dependency import Progress
from jobs.states import OnParentFailure

WHEN = {"completed": OnParentFailure.CANCEL, "ended": OnParentFailure.RUN}


@dataclass(frozen=True)
class Batch:
    """`Batch(job_id)` finds one again: the id is that of the job which runs at its end."""

    job_id: int

    def progress(self) -> Progress:
        """Counts by status, and percent of the whole, as they are now."""
        return Dependency.objects.of([self.job_id]).waited_for().progress()


def batch(
    jobs: Iterable[NewJob],
    then: NewJob | None = None,
    *,
    when: Literal["completed", "ended"] = "completed",
    subject: str = "",
) -> Batch:
    """Store jobs, all or none, and one that waits for them: `batch((NewJob("thumb", {"page": n}) for n in pages))`.

    `then` is run once all of them completed (where one fails or is cancelled, it is cancelled), or, with
    `when="ended"`, whatever became of them. Without `then` the batch ends by itself.
    """
    if when not in WHEN:
        raise InvalidInput(f"when is {when!r}, but it must be 'completed' or 'ended'.")
    last = then or NewJob(KIND, subject=subject)
    if last.after or last.dedupe_key or last.unique:
        raise InvalidInput("The job at the end of a batch waits for the batch alone, and takes no dedupe key.")
    return insert(list(jobs), replace(last, subject=last.subject or subject, on_parent_failure=WHEN[when]))


@transactional
def insert(jobs: list[NewJob], last: NewJob) -> Batch:
    """Members that are duplicates of active jobs count, too: the batch waits for the jobs that were met."""
    members = enqueue_many(jobs)
    [made] = insert_batch([check(replace(last, after=[*members.created, *members.met]))])
    return Batch(made.job_id)
