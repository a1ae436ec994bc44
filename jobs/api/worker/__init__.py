"""The queue for remote workers: they register once, start, beat, claim, report and finish over HTTP.

A worker is known by its key. Every call may be repeated: the second one changes nothing and is answered alike.
"""

from jobs.api.worker import beating, claiming, finishing, job_calls, listening, registering
from jobs.api.worker.files import outputs, sources

routers = (
    registering.router,
    beating.router,
    claiming.router,
    listening.router,
    finishing.router,
    job_calls.router,
    sources.router,
    outputs.router,
)
