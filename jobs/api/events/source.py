"""What the hub reads for all of its readers: one look at the database, whatever their number."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from jobs.api.documents import depth_document
from jobs.api.events.wanted import Topic, Wanted
from jobs.conf import conf
from jobs.selectors import changes
from jobs.selectors.clock import database_now
from jobs.selectors.summaries import Summary, running_summaries, summaries_of, worker_summaries
from jobs.states import ACTIVE

MOST_KNOWN = 5_000  # jobs of which it is remembered how they were told last


@dataclass
class News:
    """What is different from the last look."""

    jobs: dict[int, Summary] = field(default_factory=dict)
    left: dict[int, set[str]] = field(default_factory=dict)  # queues that these jobs were in, but are no more
    gone: dict[int, set[str]] = field(default_factory=dict)  # deleted, and the queue they were in
    workers: dict[str, Summary] = field(default_factory=dict)
    workers_gone: list[str] = field(default_factory=list)
    depth: dict[str, Any] | None = None
    left_out: bool = False  # more changed than is told one by one
    crowded: set[str] = field(default_factory=set)  # so did these queues: many new jobs at once
    position: int | None = None


class Source:
    """Used by one thread, with its connection."""

    def __init__(self) -> None:
        self.line = changes.begin()
        self.jobs: dict[int, Summary] = {}  # as they were told last
        self.workers: dict[str, Summary] | None = None
        self.running: set[int] = set()
        self.counts: Any = None

    def look(self, wanted: Collection[Wanted]) -> News:
        news = News()
        topics = {each.topic for each in wanted}
        if any(each.wants_depth for each in wanted):
            news.depth = self.new_depth()  # first: whoever is told of one more that runs is told which, too
        if Topic.JOBS in topics:
            self.look_at_jobs(news, frozenset[int]().union(*(each.ids for each in wanted)))
        else:
            changes.look(self.line)
        if Topic.WORKERS in topics:
            self.look_at_workers(news)
        else:
            self.workers = None
        news.position = self.line.safe
        return news

    def look_at_jobs(self, news: News, watched: frozenset[int]) -> None:
        """Events tell what happened; what runs, and what is watched and may change with time, is looked at anyway."""
        seen = changes.look(self.line)
        news.left_out, news.crowded = seen.cut, seen.crowded
        queues: defaultdict[int, set[str]] = defaultdict(set)
        for event in seen.events:
            if event.job_id is not None:
                queues[event.job_id].add(event.queue)
        asked = set(queues) | self.running | self.restless(watched, all_of_them=seen.cut)
        running = running_summaries()
        found = running | summaries_of(asked - running.keys())
        self.running = set(running)
        for job_id, summary in found.items():
            self.compare(news, job_id, summary, queues[job_id])
        for job_id in asked - found.keys():
            known = self.jobs.pop(job_id, None)
            news.gone[job_id] = queues[job_id] | ({known["queue"]} if known else set())
        while len(self.jobs) > MOST_KNOWN:
            del self.jobs[next(iter(self.jobs))]

    def restless(self, watched: frozenset[int], *, all_of_them: bool) -> set[int]:
        """Of the watched ones those that have not ended: a scheduled one becomes due without any event."""
        if all_of_them:
            return set(watched)
        known = ((job_id, self.jobs.get(job_id)) for job_id in watched)
        return {job_id for job_id, summary in known if summary and summary["status"] in ACTIVE}

    def compare(self, news: News, job_id: int, summary: Summary, queues: set[str]) -> None:
        known = self.jobs.pop(job_id, None)
        self.jobs[job_id] = summary
        if known != summary or queues:  # what has an event is told to all, also if one reader has just been shown it
            news.jobs[job_id] = summary
            left = (queues | {known["queue"]} if known else queues) - {summary["queue"]}
            if left:
                news.left[job_id] = left

    def look_at_workers(self, news: News) -> None:
        before, now = self.workers, worker_summaries()
        self.workers = now
        if before is not None:
            news.workers = {key: summary for key, summary in now.items() if before.get(key) != summary}
            news.workers_gone = sorted(before.keys() - now.keys())

    def new_depth(self) -> dict[str, Any] | None:
        depth = depth_document()
        before, self.counts = self.counts, without_ages(depth)
        return None if before == self.counts else depth

    def welcome(self, wanted: Wanted) -> dict[str, Any]:
        """The snapshot for one reader; the hub learns from it, too."""
        document = snapshot(wanted, self.line.safe)
        for summary in document.get("jobs", ()):
            # Unless others were told something else: then the next look must find it new.
            self.jobs.setdefault(summary["id"], summary)
        if "depth" in document and self.counts is None:
            self.counts = without_ages(document["depth"])
        if wanted.topic == Topic.WORKERS and self.workers is None:
            self.workers = {str(summary["id"]): summary for summary in document["workers"]}
        return document


def without_ages(depth: dict[str, Any]) -> dict[str, Any]:
    """The age of the oldest job changes all the time; it is told when something else does."""
    return {name: {**queue, "oldest_pending_seconds": None} for name, queue in depth["queues"].items()}


def snapshot(wanted: Wanted, position: int | None) -> dict[str, Any]:
    """How things stand, and, for a reader that knows everything up to a position, what has changed since."""
    document: dict[str, Any] = {
        "now": database_now(),
        "ping": conf.SSE_PING,  # whoever hears nothing for much longer has lost the stream
        "position": position,
        "resumed": False,
    }
    if wanted.topic == Topic.WORKERS:
        return {**document, "workers": list(worker_summaries().values())}
    jobs = base(wanted)
    missed = changes.changed_after(wanted.after) if wanted.after is not None else None
    gone = []
    if missed and not missed.left_out:
        document["resumed"] = True
        gone = catch_up(wanted, jobs, missed.events)
    document |= {"jobs": list(jobs.values()), "gone": gone}
    return {**document, "depth": depth_document()} if wanted.wants_depth else document


def catch_up(wanted: Wanted, jobs: dict[int, Summary], events: list[changes.Event]) -> list[int]:
    """Add what has changed to the jobs; returns those that the reader may know, but that are no longer there."""
    changed = {event.job_id for event in events if event.job_id and (not wanted.ids or event.job_id in wanted.ids)}
    for job_id, summary in summaries_of(changed - jobs.keys()).items():
        if wanted.takes(job_id, summary["queue"]):
            jobs[job_id] = summary
    known = {event.job_id for event in events if event.job_id and wanted.takes(event.job_id, event.queue)}
    return sorted(known - jobs.keys())


def base(wanted: Wanted) -> dict[int, Summary]:
    """What a reader is shown first: the jobs it asked for, or those that run."""
    if not wanted.ids:
        return running_summaries(wanted.queues)
    return {job_id: job for job_id, job in summaries_of(wanted.ids).items() if wanted.takes(job_id, job["queue"])}
