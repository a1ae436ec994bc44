"""A worker: who claims jobs.

One that has the database at hand is new for each process. A remote one stays, with its keys: its processes take turns.
"""

import uuid

from django.db import models
from django.db.models import Q

from jobs.models.fields import choices_of
from jobs.process_identity import ProcessIdentity
from jobs.states import LIVE_WORKER, WorkerStatus, WorkerType


class WorkerQuerySet(models.QuerySet["Worker"]):
    def live(self) -> "WorkerQuerySet":
        """Neither offline nor disabled."""
        return self.filter(status__in=LIVE_WORKER)


class Worker(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200, help_text="What people call it; one that is remote has it alone.")
    type = models.CharField(max_length=10, choices=choices_of(WorkerType), default=WorkerType.LOCAL)
    status = models.CharField(max_length=10, choices=choices_of(WorkerStatus), default=WorkerStatus.ACTIVE)
    drain_requested = models.BooleanField(default=False, help_text="Finish what runs, claim nothing, exit.")

    hostname = models.CharField(max_length=255, blank=True, default="", help_text="For display only.")
    pid = models.PositiveIntegerField(default=0)
    boot_id = models.CharField(max_length=64, blank=True, default="")
    pid_namespace = models.PositiveBigIntegerField(default=0)
    start_ticks = models.PositiveBigIntegerField(default=0, help_text="Start time of the process, in clock ticks.")

    process_uuid = models.UUIDField(
        null=True, blank=True, editable=False, help_text="Of a remote worker: which process speaks for it. None: none."
    )

    version = models.CharField(max_length=50, blank=True, default="")
    queues = models.JSONField(default=list, blank=True, help_text="Empty: all queues.")
    slots = models.PositiveSmallIntegerField(default=1)
    gpu = models.BooleanField(default=False)
    capabilities = models.JSONField(default=dict, blank=True)
    metadata = models.JSONField(default=dict, blank=True)

    registered_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True, help_text="Of a remote worker: when its process began.")
    last_heartbeat = models.DateTimeField(null=True, blank=True)

    objects = WorkerQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(name="worker_status_known", condition=Q(status__in=list(WorkerStatus))),
            models.CheckConstraint(name="worker_has_a_slot", condition=Q(slots__gte=1)),
            models.UniqueConstraint(
                name="remote_worker_name_once", fields=["name"], condition=Q(type=WorkerType.REMOTE)
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def process(self) -> ProcessIdentity:
        return ProcessIdentity(self.hostname, self.pid, self.boot_id, self.pid_namespace, self.start_ticks)
