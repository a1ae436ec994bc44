"""Messages to webhooks: an outbox with one row for each, what became of each try, and which hosts are left alone."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now as StatementNow

from jobs.models.fields import choices_of
from jobs.states import ANNOUNCED, DeliveryStatus


class DeliveryQuerySet(models.QuerySet["WebhookDelivery"]):
    def pending(self) -> "DeliveryQuerySet":
        return self.filter(status=DeliveryStatus.PENDING)

    def due(self) -> "DeliveryQuerySet":
        """What may be sent now; what somebody is sending is due again when that one must be dead."""
        return self.pending().filter(next_try_at__lte=StatementNow())

    def held(self, host: str) -> "DeliveryQuerySet":
        """What waits until its host is tried, and is in nobody's way meanwhile."""
        return self.pending().filter(next_try_at=None, host=host)


class WebhookDelivery(models.Model):
    """A message, and where it stands. What it says of the job is copied: the job may have run again, or be gone."""

    message_id = models.CharField(max_length=40, unique=True, help_text="The same for each try.")
    # A plain number: a message outlives its job.
    job_id = models.BigIntegerField()
    event = models.CharField(max_length=20, choices=[(name.value, name.value) for name in ANNOUNCED])
    url = models.CharField(max_length=500)
    host = models.CharField(max_length=300, help_text="With its port: what a circuit breaker is kept for.")
    created_at = models.DateTimeField(db_default=StatementNow())

    # What it says
    kind = models.CharField(max_length=100)
    queue = models.CharField(max_length=100)
    subject = models.CharField(max_length=500, blank=True)
    scope = models.CharField(max_length=200, blank=True)
    attempt = models.PositiveSmallIntegerField()
    progress = models.PositiveSmallIntegerField()
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True)
    enqueued_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)

    # Where it stands
    status = models.CharField(
        max_length=10,
        choices=choices_of(DeliveryStatus),
        default=DeliveryStatus.PENDING,
        db_default=DeliveryStatus.PENDING,
    )
    tries = models.PositiveSmallIntegerField(default=0, db_default=0)
    max_tries = models.PositiveSmallIntegerField()
    next_try_at = models.DateTimeField(
        null=True,
        blank=True,
        db_default=StatementNow(),
        help_text="While it is being sent: when others may take it over. None: it is held until its host is tried.",
    )
    give_up_at = models.DateTimeField()
    claim_id = models.UUIDField(null=True, blank=True, help_text="Set while it is being sent.")
    last_status = models.PositiveSmallIntegerField(null=True, blank=True)
    last_error = models.CharField(max_length=600, blank=True, default="", db_default="")
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name = "webhook message"
        verbose_name_plural = "webhook messages"
        constraints = [
            models.CheckConstraint(name="delivery_status_known", condition=Q(status__in=list(DeliveryStatus))),
            models.CheckConstraint(
                name="delivery_finished_iff_ended",
                condition=Q(status=DeliveryStatus.PENDING, finished_at=None)
                | Q(~Q(status=DeliveryStatus.PENDING), finished_at__isnull=False, claim_id=None),
            ),
        ]
        indexes = [
            models.Index(fields=["next_try_at", "id"], name="delivery_due", condition=Q(status=DeliveryStatus.PENDING)),
            models.Index(
                fields=["host", "id"],
                name="delivery_held",
                condition=Q(status=DeliveryStatus.PENDING, next_try_at=None),
            ),
            models.Index(fields=["job_id", "id"], name="delivery_of_job"),
            models.Index(fields=["finished_at"], name="delivery_ended", condition=Q(finished_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.event} of job {self.job_id} to {self.host}"

    @property
    def shown_status(self) -> str:
        """For people: what is being sent, or waits for another try, is told apart."""
        if self.status != DeliveryStatus.PENDING:
            return self.status
        if self.claim_id:
            return "sending"
        return "held" if self.next_try_at is None else "retrying" if self.tries else "pending"


class WebhookTry(models.Model):
    delivery = models.ForeignKey(WebhookDelivery, on_delete=models.CASCADE, related_name="history")
    at = models.DateTimeField(db_default=StatementNow())
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    seconds = models.FloatField(default=0)
    error = models.CharField(max_length=600, blank=True, default="")
    answer = models.TextField(blank=True, default="", help_text="How the answer began.")

    class Meta:
        ordering = ["delivery", "id"]
        verbose_name_plural = "webhook tries"

    def __str__(self) -> str:
        return f"try at {self.at}: {self.status or self.error}"


class WebhookHost(models.Model):
    """A circuit breaker: only hosts that failed lately have a row."""

    host = models.CharField(max_length=300, primary_key=True)
    failures = models.PositiveIntegerField(default=0, db_default=0, help_text="In a row.")
    openings = models.PositiveIntegerField(default=0, db_default=0)
    open_until = models.DateTimeField(null=True, blank=True, help_text="Nothing is sent before; then one, to try.")
    probe = models.UUIDField(null=True, blank=True, help_text="The claim of the one that is sent to try.")
    last_error = models.CharField(max_length=600, blank=True, default="", db_default="")
    failed_at = models.DateTimeField(db_default=StatementNow())

    def __str__(self) -> str:
        return self.host
