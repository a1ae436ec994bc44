"""The queue: jobs that nobody will take, or take back."""

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count

from jobs.conf import conf
from jobs.db import Now
from jobs.doctor.examination import Finding, Level, examination
from jobs.handlers.registry import registry
from jobs.models import Job, Worker
from jobs.selectors.concerns import jobs
from jobs.selectors.depth import queue_depths
from jobs.states import Hold, Status

LOOKED_AT = 10_000  # waiting jobs: of a million, not all need be read to find a kind that nobody knows


@examination("expired leases")
def expired_leases() -> Iterator[Finding]:
    """Whoever reaps does so each interval: what is over for three of them is not being reaped."""
    patience = conf.WORKER_OFFLINE_THRESHOLD + 3 * (conf.REAP_INTERVAL or 60.0)
    number = Job.objects.running().filter(lease_expires_at__lt=Now() - timedelta(seconds=patience)).count()
    if number:
        text = f"The lease of {jobs(number)} was over long ago, and nobody takes back what its worker left."
        yield Finding(text, "Run `manage.py reap_stale`; then see that a worker runs, or cron.")


@examination("unknown kinds")
def unknown_kinds() -> Iterator[Finding]:
    waiting = Job.objects.filter(status=Status.PENDING, hold=Hold.NONE).order_by().values("pk")[:LOOKED_AT]
    kinds = Job.objects.filter(pk__in=waiting).order_by("kind").values_list("kind").annotate(number=Count("pk"))
    for kind, number in kinds:
        if registry.find(kind) is None:
            text = f"{jobs(number)} of the kind {kind!r} cannot run: this code has no handler for it."
            yield Finding(text, f"Deploy the handler, or cancel: `manage.py cancel_jobs --kind {kind}`.")


@examination("unserved queues")
def unserved_queues() -> Iterator[Finding]:
    served: set[str] = set()
    for queues in Worker.objects.live().values_list("queues", flat=True):
        if not queues:
            return  # this one serves all
        served |= set(queues)
    depths = queue_depths()
    for queue, depth in depths.queues.items():
        if depth.pending and queue not in served and queue not in depths.paused:
            text = f"No worker that runs serves the queue {queue}, where {jobs(depth.pending)} could run now."
            yield Finding(text, f"Run `manage.py runworker --queue {queue}`.")


@examination("paused queues")
def paused_queues() -> Iterator[Finding]:
    depths = queue_depths()
    for queue in sorted(depths.paused):
        if waiting := depths.queues[queue].pending:
            text = f"The queue {queue} is paused, with {jobs(waiting)} that could run now."
            yield Finding(text, f"Run `manage.py resume_queue {queue}`, if that was forgotten.", Level.ADVICE)
