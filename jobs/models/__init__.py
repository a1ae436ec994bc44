"""The tables. Reads live in `jobs.selectors`, writes of job state in `jobs.lifecycle`."""

from jobs.models.alert import Alert, AlertReading, AlertTotal
from jobs.models.api_token import ApiToken
from jobs.models.call_budget import CallBudget
from jobs.models.claim import Claim
from jobs.models.dependency import Dependency, DependencyQuerySet
from jobs.models.job import Job, JobQuerySet
from jobs.models.job_event import JobEvent
from jobs.models.limit import Limit
from jobs.models.output import Output, OutputFile, OutputQuerySet
from jobs.models.periodic import PeriodicJob, PeriodicJobQuerySet, PeriodicTick
from jobs.models.phase_progress import PhaseProgress
from jobs.models.quality_progress import QualityProgress
from jobs.models.queue import Queue, QueueDelta, QueueTotal
from jobs.models.service_beat import ServiceBeat
from jobs.models.tally import MinuteTally, TotalTally
from jobs.models.turn import Turn
from jobs.models.webhook import DeliveryQuerySet, WebhookDelivery, WebhookHost, WebhookTry
from jobs.models.worker import Worker, WorkerQuerySet
from jobs.models.worker_key import WorkerKey

__all__ = [
    "Alert",
    "AlertReading",
    "AlertTotal",
    "ApiToken",
    "CallBudget",
    "Claim",
    "DeliveryQuerySet",
    "Dependency",
    "DependencyQuerySet",
    "Job",
    "JobEvent",
    "JobQuerySet",
    "Limit",
    "MinuteTally",
    "Output",
    "OutputFile",
    "OutputQuerySet",
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
    "WorkerKey",
    "WorkerQuerySet",
]
