"""Whether this process lives, whether it can serve, and how the whole is: three questions, three answers."""

from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from jobs.conf import conf
from jobs.dispatch import link
from jobs.selectors.clock import database_now
from jobs.selectors.depth import queue_depths
from jobs.selectors.disks import stored_files
from jobs.selectors.monitoring import last_reap
from jobs.selectors.workers import workers_by_status
from jobs.states import LIVE_WORKER


@dataclass(frozen=True)
class Part:
    """One thing that is needed, or good to know. `problem` says what is wrong, and nothing secret."""

    name: str
    facts: dict[str, Any]
    problem: str = ""
    needed: bool = True  # without it we are not ready

    def document(self) -> dict[str, Any]:
        return {"ok": not self.problem, **({"problem": self.problem} if self.problem else {}), **self.facts}


@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """This process answers. It asks nobody: a restart of ours would not repair the database."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Whether requests may be sent here: the database answers, and its tables are ours."""
    return answer([database()], brief=True)


@never_cache
@require_safe
def health(request: HttpRequest) -> JsonResponse:
    """How the whole is, for people and their monitors. Names no host, path or error text: it is for everybody."""
    parts = [database()]
    if not parts[0].problem:
        parts += [part() for part in (workers, queue, reaper, storage)]
    if conf.DISPATCH in link.BY_REDIS:
        parts.append(redis())
    return answer(parts)


def answer(parts: list[Part], *, brief: bool = False) -> JsonResponse:
    problems = [f"{part.name}: {part.problem}" for part in parts if part.problem and part.needed]
    body: dict[str, Any] = {"status": "unavailable" if problems else "ok"}
    if problems:
        body["reason"] = "; ".join(problems)
    if not brief:
        body |= {part.name: part.document() for part in parts}
    return JsonResponse(body, status=503 if problems else 200)


def database() -> Part:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        return Part("database", {"engine": connection.vendor}, problem=unmigrated())
    except DatabaseError:
        return Part("database", {"engine": connection.vendor}, problem="it does not answer")


def unmigrated() -> str:
    executor = MigrationExecutor(connection)
    targets = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "jobs"]
    return "its tables are older than this code: manage.py migrate" if executor.migration_plan(targets) else ""


def workers() -> Part:
    counted = workers_by_status()
    live = sum(counted[status] for status in LIVE_WORKER)
    return Part("workers", {"live": live, **counted}, problem="" if live else "none is running", needed=False)


def queue() -> Part:
    total = queue_depths().total
    waits = total.oldest_pending_seconds
    facts = {
        "pending": total.pending,
        "running": total.running,
        "failed": total.failed,
        "oldest_pending_seconds": waits,
    }
    return Part("queue", facts)


def reaper() -> Part:
    """Too long ago is three intervals: then neither a worker nor cron does it."""
    last = last_reap()
    ago = (database_now() - last).total_seconds() if last else None
    late = conf.REAP_INTERVAL > 0 and (ago is None or ago > 3 * conf.REAP_INTERVAL)
    problem = (
        "nobody has looked for crashed workers lately: run a worker, or manage.py reap_stale by cron" if late else ""
    )
    return Part("reaper", {"last_reap_seconds_ago": ago}, problem=problem, needed=False)


def redis() -> Part:
    """Without it jobs begin a second later: that is no reason to send nobody here."""
    problem = "" if link.answers() else "it does not answer: workers poll"
    return Part("redis", {"dispatch": conf.DISPATCH}, problem=problem, needed=False)


def storage() -> Part:
    """How much room there is where uploads and outputs go; storages that are no directory do not say."""
    disk = stored_files()
    if disk is None:
        return Part("storage", {"free_bytes": None}, needed=False)
    problem = f"only {disk.share:.0%} is free" if disk.is_low else ""
    return Part("storage", {"free_bytes": disk.free, "free_share": round(disk.share, 4)}, problem=problem, needed=False)
