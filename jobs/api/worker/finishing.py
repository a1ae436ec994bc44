"""How many jobs ended, in one call; and which folders of jobs may go."""

from typing import Any

from django.http import HttpRequest
from ninja import Router

from jobs.api.worker import schemas
from jobs.api.worker.access import LAST_ID, WorkerAccess, worker_of
from jobs.api.worker.wire import answer, largest, raw
from jobs.exceptions import ClaimLost
from jobs.handlers.base import Answer
from jobs.handlers.folders import ends_workdir
from jobs.lifecycle.finish import finish as finish_jobs
from jobs.lifecycle.ownership import once_had, owned
from jobs.selectors.jobs import outside
from jobs.wire.codecs import ANSWERS, OUTCOMES

router = Router(tags=["Remote workers"])
access = WorkerAccess(largest=largest)


@router.post("/finish", summary="Hand in how jobs ended", **access.options(schemas.Answers))
def finish(request: HttpRequest, sent: schemas.Outcomes) -> Any:
    """Each is answered by itself: one that is refused takes no other with it."""
    outcomes = OUTCOMES.decode(raw(request)["outcomes"])
    mine = owned(worker_of(request).pk, [each.claim for each in outcomes])
    answers = iter(finish_jobs([each for each in outcomes if each.claim in mine]))
    given = [
        next(answers) if each.claim in mine else Answer(each.claim, refused=ClaimLost(job_id=each.claim.job_id))
        for each in outcomes
    ]
    return answer({"answers": ANSWERS.encode(given)})


@router.post("/workdirs", summary="Ask which folders to keep", **access.options(schemas.JobIds))
def workdirs(request: HttpRequest, sent: schemas.JobIds) -> Any:
    """Of these jobs, those that the worker once had and that may still need what it left on its disk."""
    had = once_had(worker_of(request).pk, [job_id for job_id in sent.jobs if 0 < job_id <= LAST_ID])
    return answer({"jobs": sorted(outside(ends_workdir(), had))})
