"""Announce: exactly the right rows in the outbox, in the transaction that made them true, and no query otherwise."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef, Outcome, Report
from jobs.handlers.registry import Kind
from jobs.lifecycle import checker
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.checker import lately
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import complete, fail, finish, release
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.lifecycle.retry import retry
from jobs.lifecycle.sql.bound import AND
from jobs.models import WebhookDelivery
from tests.concurrency.threads import rolled_back
from tests.factories import age, claimed, make_job, make_worker, reload
from tests.in_full import sent_in_full

URL = "https://hooks.example.org/jobs?token=1"


def announced() -> list[tuple[int, str]]:
    return list(WebhookDelivery.objects.order_by("id").values_list("job_id", "event"))


def with_webhook(**options: Any) -> ClaimRef:
    return claimed(webhook_url=URL, **options)


def test_a_completed_job_is_announced_with_all_that_is_told_of_it():
    ref = claimed(job=make_job(webhook_url=URL, subject="May", scope="books", queue="slow"))
    complete(ref, {"pages": 7})
    [told] = WebhookDelivery.objects.all()
    job = reload(ref)
    assert (told.job_id, told.event, told.status, told.url) == (job.pk, "completed", "pending", URL)
    assert (told.host, told.kind, told.queue) == ("hooks.example.org:443", "test.noop", "slow")
    assert (told.subject, told.scope, told.attempt, told.progress) == ("May", "books", 1, 100)
    assert (told.result, told.error, told.tries, told.max_tries) == ({"pages": 7}, "", 0, 5)
    assert (told.enqueued_at, told.started_at) == (job.enqueued_at, job.started_at)
    assert told.message_id.startswith("msg_")


def test_each_end_is_announced_once_and_nothing_else_is():
    done, failed, crashed, released, retried = (with_webhook(queue=f"q{n}", max_attempts=2) for n in range(5))
    waiting = make_job(webhook_url=URL)
    silent = claimed(queue="silent")
    complete(done)
    complete(done)  # a repeated call changes nothing
    fail(failed, "broken", fatal=True)
    finish([Outcome.crashed(crashed, "killed")])
    release(released, "shutdown")
    fail(retried, "will be tried again")
    cancel(waiting.pk)
    complete(silent)
    assert announced() == [(done.job_id, "completed"), (failed.job_id, "failed"), (waiting.pk, "cancelled")]
    assert WebhookDelivery.objects.get(event="failed").error == "broken"


def test_a_running_job_is_announced_when_it_has_stopped():
    ref = with_webhook()
    cancel(ref.job_id)
    assert announced() == []
    finish([Outcome.cancelled(ref)])
    assert announced() == [(ref.job_id, "cancelled")]


def test_what_the_reaper_ends_is_announced():
    ref = claimed(make_worker(), make_job(webhook_url=URL, max_attempts=1))
    age(10_000)
    reap_once()
    assert announced() == [(ref.job_id, "failed")]


def test_a_job_that_runs_again_is_announced_again_by_another_id():
    ref = with_webhook()
    fail(ref, "broken", fatal=True)
    retry(ref.job_id)
    complete(claimed(job=reload(ref)))
    assert [event for _, event in announced()] == ["failed", "completed"]
    assert len(set(WebhookDelivery.objects.values_list("message_id", flat=True))) == 2


def test_what_is_rolled_back_announces_nothing():
    ref = with_webhook()
    with rolled_back():
        complete(ref)
        assert len(announced()) == 1
    assert announced() == []


def test_a_hook_that_fails_takes_the_announcement_with_it(kind: Kind):
    def explode(job: object, result: object) -> None:
        raise ValueError("no room")

    kind.on_complete = explode
    complete(claimed(kind=kind.name, webhook_url=URL, max_attempts=1))
    assert [event for _, event in announced()] == ["failed"]


def queries(call: Callable[[], object]) -> list[str]:
    with sent_in_full(), CaptureQueriesContext(connection) as caught:
        call()
    return [query["sql"] for query in caught.captured_queries]


def finishing(number: int, webhooks: int) -> list[str]:
    """The statements that finish so many jobs together."""
    worker = make_worker()
    refs = [
        claimed(worker, make_job(queue=f"q{webhooks}-{place}", webhook_url=URL if place < webhooks else ""))
        for place in range(number)
    ]
    sent = queries(lambda: finish([Outcome.completed(ref) for ref in refs]))
    return [statement for several in sent for statement in several.split(AND)]


def test_one_statement_for_all_and_none_without_a_webhook():
    finishing(1, 1)  # what is built once is built
    without, some, all_of_them = finishing(6, 0), finishing(6, 2), finishing(6, 6)
    assert not [sql for sql in without if "webhookdelivery" in sql.lower()]
    for told in (some, all_of_them):
        extra = [sql for sql in told if "webhookdelivery" in sql.lower()]
        assert len(extra) == 1
    assert len(some) == len(all_of_them)
    assert WebhookDelivery.objects.count() == 1 + 2 + 6


def test_the_job_goes_before_its_kind_and_that_before_the_setting(kind: Kind, settings, monkeypatch):
    monkeypatch.setattr(checker, "KEPT_FOR", 0)  # a kind does not change while it is registered
    lately.forget()
    assert make_job(kind.name).webhook_url == ""
    settings.JOBS_WEBHOOK_URL = "https://all.example.org/"
    assert make_job(kind.name).webhook_url == "https://all.example.org/"
    kind.webhook_url = "https://kind.example.org/"
    assert make_job(kind.name).webhook_url == "https://kind.example.org/"
    assert make_job(kind.name, webhook_url=URL).webhook_url == URL
    assert make_job(kind.name, webhook_url="").webhook_url == ""
    kind.webhook_url = ""
    assert make_job(kind.name).webhook_url == ""


def test_a_url_that_would_not_be_called_is_refused_when_it_is_enqueued(settings):
    with pytest.raises(
        InvalidInput, match=r"The webhook URL 'https://10\.0\.0\.1/' leads to 10\.0\.0\.1, which is private"
    ):
        make_job(webhook_url="https://10.0.0.1/")
    settings.JOBS_WEBHOOK_ALLOW = ["10.0.0.0/8"]
    assert make_job(webhook_url="http://10.0.0.1:8000/").webhook_url == "http://10.0.0.1:8000/"


def progressed(ref: ClaimRef, *percents: int) -> list[int]:
    for percent in percents:
        report(Report(ref, percent))
    rows = WebhookDelivery.objects.filter(event="progressed").order_by("id")
    return list(rows.values_list("progress", flat=True))


def test_progress_is_not_announced_unless_asked_for():
    assert progressed(with_webhook(), 10, 50) == []


def test_progress_is_announced_at_each_step_and_only_the_latest_waits(kind: Kind, settings):
    settings.JOBS_WEBHOOK_PROGRESS = 50
    kind.webhook_progress = 25
    ref = with_webhook(kind=kind.name)
    assert progressed(ref, *range(1, 25)) == []
    assert progressed(ref, 25, 26, 27, 49) == [25]
    assert progressed(ref, 60) == [60]
    assert WebhookDelivery.objects.get().max_tries == 1
    complete(ref)
    assert announced() == [(ref.job_id, "completed")]  # what was not sent yet is out of date
    kind.webhook_progress = 0
    assert progressed(with_webhook(kind=kind.name), 60) == []


def test_progress_of_a_job_without_a_webhook_costs_nothing(settings):
    ref = claimed()
    before = len(queries(lambda: report(Report(ref, 10))))
    settings.JOBS_WEBHOOK_PROGRESS = 1
    assert len(queries(lambda: report(Report(ref, 20)))) == before
    assert announced() == []


def test_a_message_outlives_its_job():
    ref = with_webhook()
    complete(ref)
    assert clear([ref.job_id]) == [ref.job_id]
    assert announced() == [(ref.job_id, "completed")]


def test_a_transaction_of_the_caller_is_not_spoiled():
    ref = with_webhook()
    with transaction.atomic():
        complete(ref)
        make_job()
    assert len(announced()) == 1
