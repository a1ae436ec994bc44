"""A job: one row of work. Only `jobs.lifecycle` writes its state."""

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Case, Count, Exists, Expression, F, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.db.models.functions import Now as StatementNow
from django.db.models.lookups import IsNull

from jobs.conf import conf
from jobs.db import Now
from jobs.given import Among, GivenList
from jobs.models.fields import choices_of
from jobs.models.limit import Limit
from jobs.models.queue import Queue
from jobs.states import ACTIVE, STORED_AS, TERMINAL, Accelerator, Hold, LimitTarget, ShownState, Status

UNCLAIMED = Q(claim_id=None, worker_id=None, claimed_at=None, lease_expires_at=None)
CLAIMED = Q(claim_id__isnull=False, worker_id__isnull=False, claimed_at__isnull=False, lease_expires_at__isnull=False)
# Who is claimed runs, who has ended says when, who waits is not to be cancelled; and there is no other status.
ENDED = Q(finished_at__isnull=False) & (
    Q(status=Status.COMPLETED) | Q(status=Status.FAILED) | Q(status=Status.CANCELLED)
)
WAITS = Q(status=Status.PENDING, finished_at=None, cancel_requested_at=None)
SOUND = (Q(status=Status.RUNNING, finished_at=None) & CLAIMED) | (UNCLAIMED & (WAITS | ENDED))
IN_RANGE = (
    Q(progress__gte=0, progress__lte=100, priority__gte=-100, priority__lte=100)
    & Q(attempt__gte=0, attempt__lte=F("max_attempts"), crashes__gte=0)
    & Q(unlisted_beats__gte=0, waits_for__gte=0, size__gte=0)
)
KEEPS_KEY = Q(dedupe_key__isnull=False) & (Q(status__in=ACTIVE) | Q(unique_ever=True))

# By status, in the words of the partial indexes, so that a few jobs are found without reading the finished ones.
IN_STATUS = {
    Status.PENDING: Q(status=Status.PENDING)
    & (Q(hold=Hold.NONE) | Q(hold=Hold.SCHEDULED) | Q(hold=Hold.LIMITED) | Q(hold=Hold.WAITING)),
    # As an expression: the lookup `worker__isnull` would lose jobs whose worker's row is gone in a join with workers.
    Status.RUNNING: Q(status=Status.RUNNING) & Q(IsNull(F("worker_id"), False)),
    **{ended: Q(status=ended) & (Q(stale_at=None) | Q(stale_at__isnull=False)) for ended in TERMINAL},
}


def is_limited() -> Any:
    """Whether a limit may concern a job. Cheap where there is none: two looks at a small table, one of them once."""
    own = Limit.objects.filter(
        Q(target=LimitTarget.KIND, name=OuterRef("kind")) | Q(target=LimitTarget.SCOPE, name=OuterRef("scope"))
    )
    queue = Limit.objects.filter(target=LimitTarget.QUEUE, name=OuterRef("queue"))
    return Case(
        When(~Exists(Limit.objects.all()), then=Value(False)),
        When(~Q(limit_key="") | Exists(own) | Exists(queue), then=Value(True)),
        default=Value(False),
        output_field=models.BooleanField(),
    )


def closed(queue: str | Expression) -> Any:
    """The limit of a queue that had no room a moment ago. Who finds it open asks again under the lock of its row."""
    running = Job.objects.running().filter(queue=queue).order_by().values("queue").annotate(jobs=Count("pk"))
    full = Q(max_running__lte=Coalesce(Subquery(running.values("jobs")), 0))
    own = Limit.objects.filter(target=LimitTarget.QUEUE, name=queue)
    return own.filter(full | Q(opens_at__gt=StatementNow()))


class JobQuerySet(models.QuerySet["Job"]):
    def with_ids(self, ids: Iterable[int] | GivenList) -> "JobQuerySet":
        listed = ids if isinstance(ids, GivenList) else [int(job_id) for job_id in ids]
        # To PostgreSQL `= ANY('{}')` is false, and false implies the condition of any partial index: it would read one.
        return self.filter(Among("pk", listed)) if listed else self.none()

    def held_by(self, job_ids: Iterable[int] | GivenList, claim_ids: Collection[UUID] | GivenList) -> "JobQuerySet":
        """The fence of every worker's write: this claim, still running, its lease not over by the database's clock."""
        mine = self.with_ids(job_ids).filter(Among("claim_id", claim_ids))
        return mine.filter(status=Status.RUNNING, lease_expires_at__gt=Now())

    def running(self) -> "JobQuerySet":
        """Jobs with a claim, in the words of their index."""
        return self.filter(IN_STATUS[Status.RUNNING])

    def ready(self, queue: str | Expression) -> "JobQuerySet":
        """What may be claimed from a queue, first come first; nothing while it is paused, or closed by its limit."""
        paused = Queue.objects.filter(name=queue, paused=True)
        return self.filter(
            ~Exists(paused), ~Exists(closed(queue)), queue=queue, status=Status.PENDING, hold=Hold.NONE
        ).order_by(F("priority").desc(), "run_after", "id")

    def held_back(self, held_by: str | None = None) -> "JobQuerySet":
        """What was met while a limit had no room for it, the one to be let go first at the front."""
        held = self.filter(status=Status.PENDING, hold=Hold.LIMITED)
        held = held if held_by is None else held.filter(held_by=held_by)
        return held.order_by(F("priority").desc(), "run_after", "id")

    def scheduled(self) -> "JobQuerySet":
        """What is held back until its time comes, the next one first."""
        return self.filter(status=Status.PENDING, hold=Hold.SCHEDULED).order_by("run_after")

    def waiting(self) -> "JobQuerySet":
        """What is held back until other jobs have ended."""
        return self.filter(status=Status.PENDING, hold=Hold.WAITING)

    def due(self) -> "JobQuerySet":
        """Scheduled jobs whose time has come."""
        return self.scheduled().filter(run_after__lte=StatementNow())

    def terminal(self) -> "JobQuerySet":
        return self.filter(status__in=TERMINAL)

    def keeping_key(self, queues: Any, dedupe_keys: Any) -> "JobQuerySet":
        """The jobs that keep others with these keys away: the condition of the unique index."""
        return self.filter(KEEPS_KEY, queue__in=queues, dedupe_key__in=dedupe_keys)

    def with_state(self) -> "JobQuerySet":
        """Annotates `state`, the finer state that people are shown."""
        quiet = Now() - timedelta(seconds=conf.STALL_AFTER)
        # Both, for the progress may be an earlier attempt's.
        stalled = Q(started_at__lt=quiet) & (Q(progressed_at=None) | Q(progressed_at__lt=quiet))
        return self.annotate(
            state=Case(
                When(status=Status.PENDING, hold=Hold.WAITING, then=Value(ShownState.SCHEDULED)),
                When(status=Status.PENDING, attempt__gt=0, then=Value(ShownState.RETRYING)),
                When(status=Status.PENDING, run_after__gt=Now(), then=Value(ShownState.SCHEDULED)),
                When(status=Status.PENDING, then=Value(ShownState.UNCLAIMED)),
                When(status=Status.RUNNING, lease_expires_at__lte=Now(), then=Value(ShownState.EXPIRED)),
                When(stalled, status=Status.RUNNING, then=Value(ShownState.STALLED)),
                When(status=Status.RUNNING, then=Value(ShownState.CLAIMED)),
                default=F("status"),
                output_field=models.CharField(),
            )
        )

    def in_states(self, states: Iterable[str]) -> "JobQuerySet":
        """Each by its status first: that has an index, the finer state has none."""
        wanted = Q(pk__in=())
        for state in states:
            status = STORED_AS[ShownState(state)]
            wanted |= IN_STATUS[status] if status in TERMINAL else IN_STATUS[status] & Q(state=state)
        return self.with_state().filter(wanted)


class Job(models.Model):
    age: float  # of one that `lifecycle.transition.lock` gave: seconds that it waited, or ran
    limited: bool  # of such a one: whether a limit may concern it

    # What it is
    kind = models.CharField(max_length=100, help_text="The name its handler is registered under.")
    queue = models.CharField(max_length=100, help_text="The line it waits in.")
    payload = models.JSONField(default=dict, help_text="What the handler is given: a JSON object.")
    subject = models.CharField(max_length=500, blank=True, default="", help_text="What people see: a path, a title.")
    scope = models.CharField(
        max_length=200, blank=True, default="", help_text="A library or tenant, for scoped counts, retry and clear."
    )
    dedupe_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001  NULLs never collide
    limit_key = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="Jobs with the same key share a limit."
    )
    unique_ever = models.BooleanField(default=False, help_text="Whether the key keeps others away after the end too.")
    enqueued_at = models.DateTimeField(db_default=StatementNow())

    # When and how it may run
    status = models.CharField(
        max_length=10, choices=choices_of(Status), default=Status.PENDING, db_default=Status.PENDING
    )
    hold = models.CharField(max_length=10, choices=choices_of(Hold), default=Hold.NONE, blank=True)
    held_by = models.CharField(
        max_length=210, blank=True, default="", db_default="", help_text="The limit that had no room when it was met."
    )
    waits_for = models.IntegerField(
        default=0, db_default=0, help_text="How many jobs it waits for; they are in the table of dependencies."
    )
    awaited = models.BooleanField(default=False, db_default=False, help_text="Whether other jobs wait for its end.")
    priority = models.SmallIntegerField(default=0, help_text="−100 … 100; higher goes first.")
    run_after = models.DateTimeField(db_default=StatementNow(), help_text="Not before this.")
    accelerator = models.CharField(max_length=10, choices=choices_of(Accelerator), default=Accelerator.NONE, blank=True)
    max_attempts = models.SmallIntegerField()
    backoff = models.CharField(max_length=60, blank=True, default="", help_text="strategy:base:cap; empty = default.")
    lease = models.DurationField(help_text="How long a claim lasts unless renewed.")
    max_runtime = models.DurationField(null=True, blank=True)
    size = models.BigIntegerField(
        default=0,
        db_default=0,
        help_text="Bytes of its source: workers with --max-size leave larger ones. 0 = unknown.",
    )
    webhook_url = models.CharField(max_length=500, blank=True, default="")
    trace_context = models.CharField(  # noqa: DJ001  NULL takes no room, and nearly all are
        max_length=60, null=True, blank=True, help_text="The W3C traceparent of whoever enqueued it."
    )

    # Who has it
    claim_id = models.UUIDField(null=True, blank=True)
    # Not enforced: a foreign key to rows as busy as workers' makes every claim lock two tables.
    worker = models.ForeignKey(
        "jobs.Worker",
        null=True,
        blank=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="running_jobs",
    )
    claimed_at = models.DateTimeField(null=True, blank=True)
    lease_expires_at = models.DateTimeField(null=True, blank=True)
    unlisted_beats = models.SmallIntegerField(
        default=0, db_default=0, help_text="Heartbeats of its worker, in a row, that did not list this claim."
    )
    last_worker_id = models.UUIDField(null=True, blank=True)
    last_worker_name = models.CharField(max_length=200, blank=True, default="", db_default="")

    # How far it is
    attempt = models.SmallIntegerField(default=0, db_default=0, help_text="Executions since the last manual retry.")
    crashes = models.SmallIntegerField(default=0, db_default=0, help_text="Attempts that ended with their worker.")
    started_at = models.DateTimeField(null=True, blank=True, help_text="The start mark of this, or the last, attempt.")
    progress = models.SmallIntegerField(default=0, db_default=0)
    step = models.CharField(max_length=200, blank=True, default="", db_default="", help_text="What it is doing now.")
    progressed_at = models.DateTimeField(null=True, blank=True)
    checkpoint = models.JSONField(null=True, blank=True, help_text="Where the next attempt can go on.")

    # How it ended
    cancel_requested_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    stale_at = models.DateTimeField(null=True, blank=True)
    result = models.JSONField(null=True, blank=True)
    last_error = models.TextField(blank=True, default="", db_default="")
    last_error_class = models.CharField(
        max_length=200, blank=True, default="", db_default="", help_text="The import path of the exception's class."
    )
    last_traceback = models.TextField(blank=True, default="", db_default="")

    objects = JobQuerySet.as_manager()

    class Meta:
        constraints = [
            # Two, for PostgreSQL reads the text of each of them anew with every statement that writes a job.
            models.CheckConstraint(name="job_state_sound", condition=SOUND),
            models.CheckConstraint(name="job_numbers_in_range", condition=IN_RANGE),
            models.UniqueConstraint(
                fields=["queue", "dedupe_key"],
                name="job_one_active_per_key",
                condition=KEEPS_KEY,
            ),
        ]
        # Each index is partial, so that finished rows weigh on no hot query. Never index the lease or the
        # progress: an update of an unindexed column is HOT and costs a fraction.
        indexes = [
            models.Index(
                fields=["queue", "-priority", "run_after", "id"],
                name="job_ready",
                condition=Q(status=Status.PENDING, hold=Hold.NONE),
            ),
            models.Index(
                fields=["held_by", "-priority", "run_after", "id"],
                name="job_held_back",
                condition=Q(status=Status.PENDING, hold=Hold.LIMITED),
            ),
            models.Index(
                fields=["limit_key"], name="job_running_key", condition=Q(worker__isnull=False) & ~Q(limit_key="")
            ),
            models.Index(fields=["id"], name="job_waiting", condition=Q(status=Status.PENDING, hold=Hold.WAITING)),
            models.Index(fields=["run_after"], name="job_due", condition=Q(status=Status.PENDING, hold=Hold.SCHEDULED)),
            # Not on the status: with statistics of a time when nothing ran, the planner would then look for one
            # claim by reading all running jobs instead of by its id.
            models.Index(fields=["worker"], name="job_running", condition=Q(worker__isnull=False)),
            models.Index(
                fields=["status", "finished_at", "id"],
                name="job_finished",
                condition=Q(status__in=TERMINAL, stale_at__isnull=True),
            ),
            models.Index(fields=["stale_at", "id"], name="job_stale", condition=Q(stale_at__isnull=False)),
            models.Index(fields=["scope", "status"], name="job_scope", condition=~Q(scope="")),
        ]

    def __str__(self) -> str:
        return f"job {self.pk} ({self.kind})"

    @property
    def standing_error(self) -> str:
        """For lists: what an earlier attempt said is not true of a job that was completed after it."""
        return "" if self.status == Status.COMPLETED else self.last_error

    @property
    def has_started(self) -> bool:
        return self.started_at is not None
