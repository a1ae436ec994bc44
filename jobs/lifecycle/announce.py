"""Announce: a message to each job's webhook, written into the outbox by the transaction that made it true.

One statement for all, and none where no job has a webhook.
"""

from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

from django.db import models, transaction
from django.db.models import F, Value
from django.db.models.functions import Now as StatementNow

from jobs.conf import conf
from jobs.given import AsStored, Given, GivenList, OwnText
from jobs.handlers.registry import registry
from jobs.lifecycle import wake_up
from jobs.lifecycle.forget_deliveries import forget
from jobs.lifecycle.locked_job import AnyJob
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.built_once import Statement, built_once, insert_from
from jobs.lifecycle.sql.together import run_together
from jobs.models import Job, WebhookDelivery
from jobs.states import DeliveryStatus, EventName
from jobs.web_address import BadAddress, parse
from jobs.webhooks.bell import bell

COPIED = (
    "url",
    "kind",
    "queue",
    "subject",
    "scope",
    "attempt",
    "progress",
    "result",
    "error",
    "enqueued_at",
    "started_at",
)
NAMED_OTHERWISE = {"url": "webhook_url", "error": "last_error"}
NUMBER = models.PositiveSmallIntegerField()


def end_of(jobs: Sequence[AnyJob], event: EventName) -> list[Bound]:
    """What is to be written of jobs that end; it is run after their rows are."""
    told = [job for job in jobs if job.webhook_url]
    if not told:
        return []
    if any(progress_step(job.kind) for job in told):
        forget_progress(told)
    call_somebody()
    return [messages(told, event, conf.WEBHOOK_TRIES)]


def progress_of(job: AnyJob, percent: int) -> None:
    """A running job that has passed a step. It is tried once: the next one, or the end, tells more."""
    step = progress_step(job.kind) if job.webhook_url else 0
    if step and percent < 100 and percent // step > job.progress // step:
        forget_progress([job])
        run_together([messages([job], EventName.PROGRESSED, tries=1)])
        call_somebody()


def progress_step(kind: str) -> int:
    known = registry.find(kind)
    return conf.WEBHOOK_PROGRESS if known is None or known.webhook_progress is None else known.webhook_progress


def forget_progress(jobs: Sequence[AnyJob]) -> None:
    """What nobody has begun to send is out of date now."""
    unsent = WebhookDelivery.objects.filter(job_id__in=[job.pk for job in jobs], event=EventName.PROGRESSED)
    forget(unsent.pending().filter(claim_id=None))


def messages(jobs: Sequence[AnyJob], event: EventName, tries: int) -> Bound:
    return message_of_each().bound(
        ids=[job.pk for job in jobs],
        event=event,
        tries=tries,
        patience=timedelta(seconds=conf.WEBHOOK_GIVE_UP),
        message_ids={job.pk: f"msg_{uuid4().hex}" for job in jobs},
        hosts={job.pk: host_of(job.webhook_url) for job in jobs},
    )


@built_once
def message_of_each() -> Statement:
    copied = {name: F(NAMED_OTHERWISE.get(name, name)) for name in COPIED}
    return insert_from(
        WebhookDelivery,
        Job.objects.with_ids(GivenList("ids")),
        {
            **copied,
            "result": AsStored(F("result")),
            "message_id": OwnText("message_ids"),
            "job_id": F("pk"),
            "event": Given("event"),
            "host": OwnText("hosts"),
            "status": Value(DeliveryStatus.PENDING.value),
            "max_tries": Given("tries", NUMBER),
            "give_up_at": StatementNow() + Given("patience", models.DurationField()),
        },
    )


def host_of(url: str) -> str:
    """Of a URL that was good when it was enqueued; should it no longer be, the sender says so."""
    try:
        return parse(url).host_and_port
    except BadAddress:
        return "?"


def call_somebody() -> None:
    """Who delivers in this process hears of it when it is committed; where nobody does, others are told."""
    if bell.is_heard:
        transaction.on_commit(bell.ring)
    else:
        wake_up.call_deliverers()
