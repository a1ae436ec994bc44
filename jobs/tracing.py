"""OpenTelemetry: spans for enqueueing, claiming, running and finishing, in one trace across processes.

Where opentelemetry-api is not installed, or nobody has set up an SDK, nothing is done.
What links the processes is a W3C `traceparent`, kept with the job.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from time import monotonic, time_ns
from typing import Any, TypeVar

from jobs.handlers.base import ClaimedJob, ClaimRef, Outcome
from jobs.states import Verdict

try:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    trace = None  # type: ignore[assignment]  # is_on() asks for it

R = TypeVar("R")
PROVIDER: Any = None  # None: the one that the process has set up
MOST_REMEMBERED = 10_000
FLUSH_MS = 5000
NOTHING: AbstractContextManager[Any] = nullcontext()


def is_on() -> bool:
    """Whether the package is there, and somebody has set up an SDK."""
    if trace is None:
        return False
    return PROVIDER is not None or is_set_up(int(monotonic()))


@lru_cache(1)
def is_set_up(second: int) -> bool:
    """Asked once a second: the answer reads the environment, which takes as long as a tenth of a short job."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def tracer() -> Any:
    return trace.get_tracer("jobyard", tracer_provider=PROVIDER)


def enqueueing(what: str, **about: Any) -> AbstractContextManager[Any]:
    """Around an enqueue; gives the span, or None."""
    if not is_on():
        return NOTHING
    return tracer().start_as_current_span(f"enqueue {what}", kind=trace.SpanKind.PRODUCER, attributes=named(about))


def traceparent() -> str | None:
    """Of the span that is current: what a new job is stored with."""
    if not is_on():
        return None
    here = trace.get_current_span().get_span_context()
    if not here.is_valid:
        return None
    return f"00-{here.trace_id:032x}-{here.span_id:016x}-{here.trace_flags & 1:02x}"


def running(job: ClaimedJob, run: Callable[[], Outcome | None]) -> Outcome | None:
    """Run an attempt inside a span that continues the trace of whoever enqueued the job."""
    if not is_on():
        return run()
    about = named({"job_id": job.id, "kind": job.kind, "queue": job.queue, "attempt": job.attempt})
    span = tracer().start_as_current_span(
        f"run {job.kind}", context=context_of(job.trace_context), kind=trace.SpanKind.CONSUMER, attributes=about
    )
    with span as current:
        outcome = run()
        describe(current, outcome)
        return outcome


def describe(span: Any, outcome: Outcome | None) -> None:
    span.set_attribute("jobyard.outcome", outcome.verdict.value if outcome else "claim_lost")
    if outcome and outcome.verdict in (Verdict.FAILED, Verdict.CRASHED):
        span.set_attribute("error.type", outcome.error_class or "error")
        span.set_status(trace.Status(trace.StatusCode.ERROR, outcome.error.split("\n", 1)[0][:500]))


class Batches:
    """Spans of calls about many jobs: each has links to what its jobs are part of. Kept by whoever makes the calls."""

    def __init__(self) -> None:
        self._contexts: dict[ClaimRef, str] = {}

    def claiming(self, claim: Callable[[], list[ClaimedJob]]) -> list[ClaimedJob]:
        """A claim that finds nothing is no span: there are many."""
        if not is_on():
            return claim()
        began = time_ns()
        jobs = claim()
        traced = {job.claim: job.trace_context for job in jobs if job.trace_context}
        if traced:
            tell("claim", began, len(jobs), traced.values())
            if len(self._contexts) > MOST_REMEMBERED:  # claims that were lost are never finished
                self._contexts.clear()
            self._contexts |= traced
        return jobs

    def finishing(self, claims: Iterable[ClaimRef], finish: Callable[[], R]) -> R:
        if not self._contexts:
            return finish()
        began, refs = time_ns(), list(claims)
        result = finish()
        links = [context for ref in refs if (context := self._contexts.pop(ref, None))]
        if links:
            tell("finish", began, len(refs), links)
        return result


def tell(name: str, began: int, jobs: int, contexts: Iterable[str]) -> None:
    spans = [trace.get_current_span(context_of(each)).get_span_context() for each in contexts]
    links = [trace.Link(span) for span in spans if span.is_valid]
    about = named({"jobs": jobs})
    tracer().start_span(name, links=links, kind=trace.SpanKind.CLIENT, attributes=about, start_time=began).end()


def context_of(traceparent: str | None) -> Any:
    return TraceContextTextMapPropagator().extract({"traceparent": traceparent}) if traceparent else None


def named(about: dict[str, Any]) -> dict[str, Any]:
    """The names of attributes, in a namespace of their own."""
    system = {"messaging.system": "jobyard"}
    return system | {f"jobyard.{name}": value for name, value in about.items() if value is not None}


def flush() -> None:
    """A child ends without what Python does at exit: its last spans are sent now."""
    provider: Any = trace and (PROVIDER or trace.get_tracer_provider())
    if hasattr(provider, "force_flush"):
        provider.force_flush(FLUSH_MS)
