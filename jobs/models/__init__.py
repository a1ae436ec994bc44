"""The tables. Reads live in `jobs.selectors`, writes of job state in `jobs.lifecycle`."""

from jobs.models.api_token import ApiToken
from jobs.models.claim import Claim
from jobs.models.job import Job, JobQuerySet
from jobs.models.job_event import JobEvent
from jobs.models.periodic import PeriodicJob, PeriodicJobQuerySet, PeriodicTick
from jobs.models.phase_progress import PhaseProgress
from jobs.models.quality_progress import QualityProgress
from jobs.models.queue import Queue, QueueDelta, QueueTotal
from jobs.models.service_beat import ServiceBeat
from jobs.models.tally import MinuteTally, TotalTally
from jobs.models.turn import Turn
from jobs.models.webhook import DeliveryQuerySet, WebhookDelivery, WebhookHost, WebhookTry
from jobs.models.worker import Worker, WorkerQuerySet

__all__ = [
    "ApiToken",
    "Claim",
    "DeliveryQuerySet",
    "Job",
    "JobEvent",
    "JobQuerySet",
    "MinuteTally",
    "PeriodicJob",
    "PeriodicJobQuerySet",
    "PeriodicTick",
    "PhaseProgress",
    "QualityProgress",
    "Queue",
    "QueueDelta",
    "QueueTotal",
    "ServiceBeat",
    "TotalTally",
    "Turn",
    "WebhookDelivery",
    "WebhookHost",
    "WebhookTry",
    "Worker",
    "WorkerQuerySet",
]
