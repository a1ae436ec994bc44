"""Nobody is judged right after an outage: workers that were there before it get time to renew their claims.

A service leaves beats. A gap in the beats is a silence. For a while after it, the workers that were alive when it
began are shielded from the reaper; who was missing already then is judged as always, so that rare beats (a site with
only a cron) shield nobody for good. The database: workers and reapers note that they reached it. The API: its web
processes beat by themselves, and remote workers are shielded also while it is silent, for who reaps needs no API.
"""

from datetime import datetime, timedelta

from django.db.models import Case, F, Q, When

from jobs.conf import conf
from jobs.db import Now, SecondsSince, is_postgres, transactional
from jobs.lifecycle.sql.insert import insert_new, now_sql
from jobs.models import ServiceBeat, Worker
from jobs.states import WorkerType

DATABASE, API = "database", "api"
LONGEST_SILENCE = 3600.0  # seconds: an API that stays away for longer will not come back, where rule (c) is off
BEAT_AT_MOST_EVERY = timedelta(seconds=1)  # many workers need not all write the one row


def ensure_service(name: str = DATABASE) -> None:
    insert_new(ServiceBeat, {"name": "%s", "beat_at": now_sql()}, [[name]], returning=["name"])


def beat(name: str = DATABASE) -> None:
    """The service was reached: it is up, and if it was silent, since now."""
    ends_a_silence = When(beat_at__lt=Now() - shortest_silence(), then=Now())
    begins_it = When(beat_at__lt=Now() - shortest_silence(), then=F("beat_at"))
    ServiceBeat.objects.filter(name=name, beat_at__lt=Now() - BEAT_AT_MOST_EVERY).update(
        up_since=Case(ends_a_silence, default=F("up_since")),
        silent_from=Case(begins_it, default=F("silent_from")),
        beat_at=Now(),
    )


def shortest_silence() -> timedelta:
    """Shorter gaps make no live worker look silent: it beat at most one interval before. Ordinary pauses are none."""
    beats = conf.HEARTBEAT_INTERVAL
    return timedelta(seconds=max(conf.WORKER_OFFLINE_THRESHOLD - beats, 2 * beats))


def shielded_workers(name: str = DATABASE) -> Q | None:
    """A reaper looks: which workers may not be judged now? None while no grace holds."""
    if not is_postgres():
        return None  # one machine, one file: the database was never away
    ensure_service(name)
    beat(name)
    lately_up = Q(up_since__gt=Now() - timedelta(seconds=conf.REAP_GRACE))
    silent_from = ServiceBeat.objects.filter(lately_up, name=name).values_list("silent_from", flat=True).first()
    if silent_from is None:
        return None
    return alive_at(silent_from)


def alive_at(moment: datetime) -> Q:
    heard = moment - timedelta(seconds=conf.WORKER_OFFLINE_THRESHOLD)
    return Q(last_heartbeat__gte=heard) | Q(last_heartbeat=None, registered_at__gte=heard)


@transactional
def beat_api() -> None:
    """A web process lives that answers remote workers; where there are none, nothing is written."""
    if Worker.objects.filter(type=WorkerType.REMOTE).exists():
        ensure_service(API)
        beat(API)


def shielded_remote_workers() -> Q | None:
    """Those that had nobody to talk to until now, or until a moment ago; on any database."""
    service = ServiceBeat.objects.filter(name=API).annotate(
        silent_for=SecondsSince("beat_at"), up_for=SecondsSince("up_since")
    )
    for beat_at, silent_from, silent_for, up_for in service.values_list(
        "beat_at", "silent_from", "silent_for", "up_for"
    ):
        if silent_for > shortest_silence().total_seconds():
            patience = conf.STALE_LOCK_AGE or LONGEST_SILENCE
            return Q(type=WorkerType.REMOTE) & alive_at(beat_at) if silent_for < patience else None
        if silent_from is not None and up_for < conf.REAP_GRACE:
            return Q(type=WorkerType.REMOTE) & alive_at(silent_from)
    return None
