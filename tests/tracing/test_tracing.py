"""Spans, by the real SDK: one trace from whoever enqueues to whoever runs, and nothing at all without it."""

from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from jobs import tracing
from jobs.handlers.base import Outcome
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import finish
from jobs.lifecycle.new_job import NewJob
from jobs.models import Job
from tests.factories import make_worker, reload

pytestmark = pytest.mark.django_db


@pytest.fixture
def exporter(monkeypatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing, "PROVIDER", provider)
    yield exporter
    provider.shutdown()


def spans(exporter: InMemorySpanExporter) -> dict[str, Any]:
    return {span.name: span for span in exporter.get_finished_spans()}


def traceparent_of(span: ReadableSpan) -> str:
    return f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-01"


def test_a_job_is_stored_with_the_span_that_enqueued_it(exporter):
    with tracing.tracer().start_as_current_span("request") as request:
        job_id = enqueue("test.noop").job_id
    span = spans(exporter)["enqueue test.noop"]
    assert reload(job_id).trace_context == traceparent_of(span)
    assert span.parent.span_id == request.get_span_context().span_id
    assert span.attributes["jobyard.job_id"] == job_id


def test_many_share_one_span(exporter):
    enqueue_many(NewJob("test.noop") for _ in range(3))
    assert list(spans(exporter)) == ["enqueue many"]
    assert set(Job.objects.values_list("trace_context", flat=True)) == {traceparent_of(spans(exporter)["enqueue many"])}


def test_an_attempt_continues_the_trace_and_claim_and_finish_link_to_it(exporter):
    enqueue("test.noop", queue="mail")
    batches = tracing.Batches()
    [job] = batches.claiming(lambda: claim(make_worker(), ["mail"]))
    outcome = tracing.running(job, lambda: Outcome.completed(job.claim))
    assert outcome
    batches.finishing([job.claim], lambda: finish([outcome]))
    seen = spans(exporter)
    enqueued, ran = seen["enqueue test.noop"], seen["run test.noop"]
    assert ran.context.trace_id == enqueued.context.trace_id
    assert ran.parent.span_id == enqueued.context.span_id
    assert dict(ran.attributes) == {
        "messaging.system": "jobyard", "jobyard.job_id": job.id, "jobyard.kind": "test.noop", "jobyard.queue": "mail",
        "jobyard.attempt": 1, "jobyard.outcome": "completed",
    }  # fmt: skip
    for name in ("claim", "finish"):
        assert [link.context.span_id for link in seen[name].links] == [enqueued.context.span_id]
    assert batches._contexts == {}, "nothing is remembered of a job that ended"


def test_a_failure_is_told(exporter):
    enqueue("test.noop")
    [job] = claim(make_worker())
    tracing.running(job, lambda: Outcome.failed(job.claim, ValueError("no such file")))
    span = spans(exporter)["run test.noop"]
    assert (span.status.status_code.name, span.status.description) == ("ERROR", "ValueError: no such file")
    assert span.attributes["error.type"] == "builtins.ValueError"


def test_a_claim_that_finds_nothing_is_no_span(exporter):
    assert tracing.Batches().claiming(lambda: claim(make_worker())) == []
    assert spans(exporter) == {}


def test_without_an_sdk_nothing_is_stored():
    enqueue("test.noop")
    [job] = tracing.Batches().claiming(lambda: claim(make_worker()))
    assert job.trace_context is None
    assert tracing.running(job, lambda: None) is None


def test_without_the_package_nothing_is_done(monkeypatch):
    monkeypatch.setattr(tracing, "trace", None)
    enqueue("test.noop")
    enqueue_many([NewJob("test.noop")])
    batches = tracing.Batches()
    jobs = batches.claiming(lambda: claim(make_worker(), limit=2))
    assert [job.trace_context for job in jobs] == [None, None]
    outcomes = [tracing.running(job, lambda: Outcome.completed(jobs[0].claim)) for job in jobs[:1]]
    assert batches.finishing([jobs[0].claim], lambda: outcomes) == outcomes
    tracing.flush()


@pytest.mark.parametrize("nonsense", ["", "nonsense", "00-0-0-0", "ff-" + "0" * 32 + "-" + "0" * 16 + "-01"])
def test_a_context_that_makes_no_sense_begins_a_new_trace(exporter, nonsense):
    enqueue("test.noop")
    Job.objects.update(trace_context=nonsense)
    batches = tracing.Batches()
    [job] = batches.claiming(lambda: claim(make_worker()))
    tracing.running(job, lambda: Outcome.completed(job.claim))
    assert spans(exporter)["run test.noop"].parent is None
