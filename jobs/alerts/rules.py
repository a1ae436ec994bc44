"""Which events and which concerns people are told of. Pure: what is judged comes in, alerts come out."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from jobs.conf import conf
from jobs.lifecycle.raise_alerts import Raised
from jobs.sanitise import clean_error, printable
from jobs.selectors.alerts import Happened
from jobs.selectors.concerns import EXAMPLES, Concern, jobs, went_missing
from jobs.states import AlertName, EventName

# The concerns that people are told of by themselves. The others are only shown: failed jobs are a concern until
# somebody clears them, and a worker that is lost until somebody replaces it; as events they are told of once.
TOLD = (
    AlertName.NO_CLAIMS,
    AlertName.JOB_STALLED,
    AlertName.ERROR_RATE_HIGH,
    AlertName.QUEUE_DEPTH_HIGH,
    AlertName.DISK_LOW,
    AlertName.LONG_TRANSACTION,
)
PATTERN = 2  # failures of one subject
MOST_ERROR = 300  # characters


Failures = Mapping[tuple[str, str], int]  # by queue and subject


def from_concerns(found: Iterable[Concern]) -> list[Raised]:
    return [
        Raised(AlertName(concern.name), concern.key, concern.text, concern.advice, concern.grave, details_of(concern))
        for concern in found
        if concern.name in TOLD
    ]


def details_of(concern: Concern) -> dict[str, Any]:
    return {"queue": concern.queue} if concern.queue else {}


def from_events(events: Sequence[Happened], failures: Failures) -> list[Raised]:
    """`failures` says how often each subject failed lately, these events included."""
    failed = [event for event in events if event.name == EventName.FAILED]
    return [
        *recovered([event for event in events if event.name == EventName.REAPED]),
        *used_up([event for event in failed if event.attempts_left <= 0]),
        *patterns(failed, failures),
        *workers(events),
    ]


def recovered(events: Sequence[Happened]) -> Iterator[Raised]:
    for queue, of_queue in by_queue(events).items():
        yield Raised(
            AlertName.STALE_JOB_RECOVERED,
            queue,
            f"{jobs(len(of_queue))} of {queue} {was(of_queue)} taken back from a worker that is gone: "
            f"{named(of_queue)}.",
            "They run again by themselves. Look at the machine if that goes on.",
            details={"queue": queue, "jobs": ids(of_queue), "number": len(of_queue)},
        )


def used_up(events: Sequence[Happened]) -> Iterator[Raised]:
    for queue, of_queue in by_queue(events).items():
        yield Raised(
            AlertName.JOB_MAX_RETRIES_EXCEEDED,
            queue,
            f"{jobs(len(of_queue))} of {queue} failed after all attempts: {named(of_queue)}. "
            f"The last error: {shown_error(of_queue[-1].error)}",
            "Read the errors, repair the cause, then retry: `manage.py retry_jobs --status failed`.",
            grave=True,
            details={"queue": queue, "jobs": ids(of_queue), "number": len(of_queue)},
        )


def patterns(failed: Sequence[Happened], failures: Failures) -> Iterator[Raised]:
    """The same thing failed again: another try will hardly help."""
    last = {(event.queue, event.subject): event for event in failed if event.subject}
    for (queue, subject), event in last.items():
        number = failures.get((queue, subject), 0)
        if number >= PATTERN:
            yield Raised(
                AlertName.JOB_FAILED_PATTERN,
                f"{queue}: {subject}",
                f"{printable(subject, 100)} ({event.kind}, in {queue}) failed {number} times within a day. "
                f"The last error: {shown_error(event.error)}",
                f"Look at job {event.job_id}: `manage.py show_job {event.job_id}`.",
                grave=True,
                details={"queue": queue, "kind": event.kind, "subject": printable(subject, 200), "failures": number,
                         "jobs": [event.job_id]},
            )  # fmt: skip


def workers(events: Sequence[Happened]) -> Iterator[Raised]:
    for event in events:
        about = {"worker": event.worker}
        if event.name == EventName.WORKER_OFFLINE and went_missing(event.reason):
            yield Raised(
                AlertName.WORKER_OFFLINE,
                event.worker,
                f"Worker {printable(event.worker, 100)} went offline without signing off: "
                f"{printable(event.reason, 200)}.",
                "Its jobs are handed on. Look at the machine, and start a worker there again.",
                grave=True,
                details=about,
            )
        elif event.name == EventName.WORKER_OFFLINE and conf.ALERT_WORKERS:
            text = f"Worker {printable(event.worker, 100)} signed off."
            yield Raised(AlertName.WORKER_SHUTDOWN, event.worker, text, details=about)
        elif event.name == EventName.WORKER_ONLINE and conf.ALERT_WORKERS:
            text = f"Worker {printable(event.worker, 100)} came online."
            yield Raised(AlertName.WORKER_STARTUP, event.worker, text, details=about)


def by_queue(events: Sequence[Happened]) -> dict[str, list[Happened]]:
    grouped: defaultdict[str, list[Happened]] = defaultdict(list)
    for event in events:
        grouped[event.queue].append(event)
    return grouped


def ids(events: Sequence[Happened]) -> list[int]:
    return [event.job_id for event in events[:EXAMPLES]]


def named(events: Sequence[Happened]) -> str:
    more = " …" if len(events) > EXAMPLES else ""
    return ", ".join(f"{event.job_id} ({event.kind})" for event in events[:EXAMPLES]) + more


def was(events: Sequence[Happened]) -> str:
    return "was" if len(events) == 1 else "were"


def shown_error(error: str) -> str:
    """One line, cut, and without any secret of the environment."""
    return printable(clean_error(error.strip(), MOST_ERROR)) or "none was told."
