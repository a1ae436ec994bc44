"""`/metrics`: the queue's figures as Prometheus reads them.

They come from the database's counters and tallies and not from the memory of a process: however many processes answer,
they answer alike, and a restart resets nothing.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from jobs import __version__
from jobs.api.errors import ApiError
from jobs.conf import conf
from jobs.durations import BOUNDS
from jobs.selectors.alerts import ALERT_OUTCOMES, alert_totals
from jobs.selectors.clock import database_now
from jobs.selectors.depth import queue_depths
from jobs.selectors.monitoring import Labels, Totals, last_reap, oldest_heartbeat, totals
from jobs.selectors.overview import running_states
from jobs.selectors.throughput import Times
from jobs.selectors.workers import workers_by_status
from jobs.states import AlertName, Bucket, EventName

OF_JOBS = ("queue", "kind")
WEBHOOK_OUTCOMES: dict[str, str] = {EventName.WEBHOOK_DELIVERED: "delivered", EventName.WEBHOOK_FAILED: "failed"}


class QueueCollector(Collector):
    """Read anew for each scrape."""

    def collect(self) -> Iterable[Metric]:
        yield gauge("jobyard_info", "The version of Jobyard that answers.", ("version",), {(__version__,): 1})
        yield from depths()
        yield from counters(totals())
        yield from workers()
        yield alerts()


def depths() -> Iterator[Metric]:
    seen = queue_depths()
    jobs = {(name, bucket.value): getattr(depth, bucket) for name, depth in seen.queues.items() for bucket in Bucket}
    yield gauge("jobyard_jobs", "Jobs by queue and state.", ("queue", "state"), jobs)
    oldest = {(name,): depth.oldest_pending_seconds or 0.0 for name, depth in seen.queues.items()}
    yield gauge("jobyard_oldest_pending_seconds", "How long the oldest pending job has waited.", ("queue",), oldest)
    paused = {(name,): float(name in seen.paused) for name in seen.queues}
    yield gauge("jobyard_queue_paused", "Whether the queue is paused.", ("queue",), paused)
    running = {(state,): number for state, number in running_states().items()}
    yield gauge("jobyard_running", "Running jobs by finer state: claimed, stalled, expired.", ("state",), running)


def counters(since_ever: Totals) -> Iterator[Metric]:
    happened = CounterMetricFamily(
        "jobyard_events",
        "What happened to jobs: enqueued, claimed, completed, failed, retrying, reaped, retries_exceeded …",
        labels=(*OF_JOBS, "event"),
    )
    webhooks = CounterMetricFamily(
        "jobyard_webhooks",
        "Webhook messages by what became of them: delivered, or failed, which is given up.",
        labels=(*OF_JOBS, "outcome"),
    )
    for (queue, kind, event), number in sorted(since_ever.events.items()):
        if event in WEBHOOK_OUTCOMES:
            webhooks.add_metric((queue, kind, WEBHOOK_OUTCOMES[event]), number)
        else:
            happened.add_metric((queue, kind, event), number)
    yield happened
    yield webhooks
    yield histogram("jobyard_wait_seconds", "How long jobs waited, from due to claimed.", since_ever.waits)
    yield histogram("jobyard_run_seconds", "How long attempts ran, from started to ended.", since_ever.runs)


def workers() -> Iterator[Metric]:
    counted = {(status,): number for status, number in workers_by_status().items()}
    yield gauge("jobyard_workers", "Workers by status.", ("status",), counted)
    now = database_now()
    beat, reaped = oldest_heartbeat(), last_reap()
    if beat:
        silent = {(): (now - beat).total_seconds()}
        yield gauge("jobyard_heartbeat_age_seconds", "Silence of the live worker that is silent longest.", (), silent)
    if reaped:
        ago = {(): (now - reaped).total_seconds()}
        yield gauge("jobyard_last_reap_age_seconds", "How long ago somebody looked for crashed workers.", (), ago)


def alerts() -> Metric:
    """All names are there from the beginning, so that a rule about one finds it."""
    happened = CounterMetricFamily(
        "jobyard_alerts",
        "Alerts by what became of them: raised, sent, suppressed, given_up.",
        labels=("alert", "outcome"),
    )
    counted = alert_totals()
    for name in AlertName:
        for outcome in ALERT_OUTCOMES:
            happened.add_metric((name, outcome), counted.get((name, outcome), 0))
    return happened


def gauge(name: str, meaning: str, labels: tuple[str, ...], values: Mapping[Any, float]) -> Metric:
    """One value for each tuple of the labels' values."""
    family = GaugeMetricFamily(name, meaning, labels=labels)
    for label, value in sorted(values.items()):
        family.add_metric(label, value)
    return family


def histogram(name: str, meaning: str, timed: Mapping[Labels, Times]) -> Metric:
    family = HistogramMetricFamily(name, meaning, labels=OF_JOBS)
    for labels, times in sorted(timed.items()):
        family.add_metric(labels, cumulated(times), times.seconds)
    return family


def cumulated(times: Times) -> list[tuple[str, float]]:
    """How many took at most so long, bound by bound."""
    buckets, jobs = [], 0
    for number, bound in enumerate(BOUNDS):
        jobs += times.jobs_by_class[number]
        buckets.append((f"{bound:g}" if bound < 1 else f"{bound:.1f}", float(jobs)))
    return [*buckets, ("+Inf", float(times.jobs))]


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Behind JOBS_METRICS_TOKEN where there is one."""
    wanted = conf.METRICS_TOKEN
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    if wanted and not (scheme.lower() == "bearer" and same(given.strip(), wanted)):
        error = ApiError(
            401,
            "not_authenticated",
            "Send the token of JOBS_METRICS_TOKEN in the header Authorization: Bearer.",
            {"WWW-Authenticate": 'Bearer realm="Jobyard metrics"'},
        )
        return error.response()
    registry = CollectorRegistry(auto_describe=False)
    registry.register(QueueCollector())
    encode, content_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(registry), content_type=content_type)


def same(given: str, wanted: str) -> bool:
    """In constant time."""
    return secrets.compare_digest(given.encode(), wanted.encode())
