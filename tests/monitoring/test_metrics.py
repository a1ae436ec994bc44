"""`/metrics`: what Prometheus reads, from the database's counters and tallies."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.parser import text_string_to_metric_families

from jobs.lifecycle.claim import claim
from jobs.lifecycle.clear import clear
from jobs.lifecycle.counts import fold
from jobs.lifecycle.finish import complete, fail
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.queues import pause
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.record_deliveries import record_deliveries
from jobs.lifecycle.take_deliveries import take_deliveries
from jobs.models import Job
from jobs.states import Status
from jobs.webhooks.message import Sent
from tests.factories import age, claimed, job_in, make_job, make_worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _static_root(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path


def samples(client: Client) -> Iterator[tuple[str, dict[str, str], float]]:
    answer = client.get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    for family in text_string_to_metric_families(answer.content.decode()):
        for sample in family.samples:
            yield sample.name, sample.labels, sample.value


def value(client: Client, name: str, **labels: str) -> float:
    (found,) = [number for sample, has, number in samples(client) if sample == name and labels.items() <= has.items()]
    return found


def test_depth_per_queue_and_state(client: Client):
    make_job(queue="mail"), make_job(queue="mail")
    job_in(Status.FAILED, queue="media")
    pause("media")
    age(60)
    assert value(client, "jobyard_jobs", queue="mail", state="pending") == 2
    assert value(client, "jobyard_jobs", queue="media", state="failed") == 1
    assert 60 <= value(client, "jobyard_oldest_pending_seconds", queue="mail") < 90
    assert value(client, "jobyard_queue_paused", queue="media") == 1
    assert value(client, "jobyard_queue_paused", queue="mail") == 0


@pytest.mark.parametrize("folded", [False, True])
def test_counters_never_go_down(client: Client, folded):
    complete(claimed(queue="mail"))
    fail(claimed(queue="mail"), "broken", fatal=True)
    clear([job.pk for job in Job.objects.all()])
    if folded:
        fold()
    for event in ("completed", "failed"):
        assert value(client, "jobyard_events_total", queue="mail", kind="test.noop", event=event) == 1
    assert value(client, "jobyard_events_total", queue="mail", event="enqueued") == 2


def test_attempts_that_were_used_up_are_counted_apart_from_other_failures(client: Client):
    fail(claimed(queue="mail"), "broken", fatal=True)
    fail(claimed(queue="mail", max_attempts=1), "broken")
    assert value(client, "jobyard_events_total", queue="mail", event="failed") == 2
    assert value(client, "jobyard_events_total", queue="mail", event="retries_exceeded") == 1


@pytest.mark.parametrize(("delivered", "outcome"), [(True, "delivered"), (False, "failed")])
def test_webhook_messages_are_counted_by_what_became_of_them(client: Client, settings, delivered, outcome):
    settings.JOBS_WEBHOOK_TRIES = 1
    complete(claimed(queue="mail", webhook_url="https://hooks.example.org/"))
    [delivery] = take_deliveries(1, lambda host: 1)
    record_deliveries([Sent(delivery, delivered, 200 if delivered else 500)])
    told = [labels["outcome"] for name, labels, _ in samples(client) if name == "jobyard_webhooks_total"]
    assert told == [outcome]
    assert value(client, "jobyard_webhooks_total", queue="mail", kind="test.noop", outcome=outcome) == 1


def test_a_queue_that_is_used_no_more_is_forgotten_and_no_other_is(client: Client):
    for queue in ("once", "kept", "lately"):
        complete(claimed(queue=queue))
    age(9 * 86_400)
    complete(claimed(queue="lately"))
    clear(Job.objects.exclude(queue="kept"))
    assert value(client, "jobyard_events_total", queue="once", event="completed") == 1
    prune_once()
    told = {labels["queue"] for name, labels, _ in samples(client) if name == "jobyard_events_total"}
    assert told == {"kept", "lately"}
    assert value(client, "jobyard_events_total", queue="lately", event="completed") == 2


def test_histograms_are_cumulative(client: Client):
    make_job(queue="mail"), make_job(queue="mail")
    age(30)
    one, other = claim(make_worker(slots=2), limit=2)
    complete(one.claim)
    age(7)
    complete(other.claim)
    assert value(client, "jobyard_run_seconds_bucket", queue="mail", le="5.0") == 1
    assert value(client, "jobyard_run_seconds_bucket", queue="mail", le="10.0") == 2
    assert value(client, "jobyard_run_seconds_bucket", queue="mail", le="+Inf") == 2
    assert value(client, "jobyard_run_seconds_count", queue="mail") == 2
    assert 7 <= value(client, "jobyard_run_seconds_sum", queue="mail") < 9
    assert value(client, "jobyard_wait_seconds_bucket", queue="mail", le="20.0") == 0
    assert value(client, "jobyard_wait_seconds_bucket", queue="mail", le="50.0") == 2


def test_workers_heartbeats_and_the_last_reap(client: Client):
    make_worker()
    age(42)
    reap_once()
    assert value(client, "jobyard_workers", status="idle") == 1
    assert 42 <= value(client, "jobyard_heartbeat_age_seconds") < 60
    assert value(client, "jobyard_last_reap_age_seconds") < 20


def test_an_empty_database_has_metrics_too(client: Client):
    names = {name for name, _, _ in samples(client)}
    assert {"jobyard_info", "jobyard_workers"} <= names


def test_hostile_names_are_escaped(client: Client):
    job = make_job(queue="mail")
    Job.objects.filter(pk=job.pk).update(kind='a"b\\c\nd')
    complete(claimed(job=Job.objects.get()))
    assert value(client, "jobyard_events_total", kind='a"b\\c\nd', event="completed") == 1


def test_it_takes_the_same_few_queries_however_much_there_is(client: Client):
    complete(claimed(queue="q"))
    with CaptureQueriesContext(connection) as few:
        client.get("/metrics")
    for number in range(10):
        complete(claimed(queue=f"q{number}"))
    with CaptureQueriesContext(connection) as many:
        client.get("/metrics")
    assert len(many) == len(few) <= 15


@pytest.mark.parametrize(
    ("header", "status"),
    [({}, 401), ({"Authorization": "Bearer wrong"}, 401), ({"Authorization": "Basic s3cret"}, 401),
     ({"Authorization": "Bearer s3cret"}, 200), ({"Authorization": "bearer  s3cret "}, 200)],
)  # fmt: skip
def test_a_token_keeps_others_out(client: Client, settings, header, status):
    settings.JOBS_METRICS_TOKEN = "s3cret"
    answer = client.get("/metrics", headers=header)
    assert answer.status_code == status
    assert b"s3cret" not in answer.content


def test_it_is_only_read(client: Client):
    assert client.post("/metrics").status_code == 405
