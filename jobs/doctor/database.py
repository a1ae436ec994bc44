"""The database: its version and parameters, its connections, its clock, and what others do in it."""

from collections.abc import Iterator
from datetime import UTC, datetime

from django.db import connection
from django.db.models import Sum

from jobs.conf import conf
from jobs.db import is_postgres
from jobs.doctor.examination import Finding, Level, examination
from jobs.models import Worker
from jobs.readable import human_duration
from jobs.selectors.clock import database_now
from jobs.selectors.transactions import open_transactions

OLDEST = 150_000
OF_A_WORKER = 5  # connections, beside those of its slots: docs/operations/database.md
LONGEST_IDLE = 60.0  # seconds
CLOCK_TOLERANCE = 5.0
LOOK = "SELECT pid, usename, state, xact_start, left(query, 60) FROM pg_stat_activity ORDER BY xact_start"


def parameter(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT CURRENT_SETTING(%s)", [name])
        value: str = cursor.fetchone()[0]
    return value


@examination("database version")
def version() -> Iterator[Finding]:
    if is_postgres() and int(parameter("server_version_num")) < OLDEST:
        text = f"PostgreSQL is {parameter('server_version')}; Jobyard needs 15 or newer."
        yield Finding(text, "Upgrade the server (pg_upgrade).")


@examination("database parameters")
def parameters() -> Iterator[Finding]:
    if not is_postgres():
        return
    if parameter("autovacuum") != "on":
        text = "autovacuum is off: dead rows stay, and every claim gets slower."
        yield Finding(text, "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf();")
    if parameter("fsync") != "on":
        text = "fsync is off: a crash of the machine can destroy the database."
        yield Finding(text, "ALTER SYSTEM SET fsync = on; SELECT pg_reload_conf();")
    if parameter("synchronous_commit") == "off":
        text = (
            "synchronous_commit is off: after a crash of the server, jobs enqueued in the last moment may be missing, "
            "and some that had ended run again."
        )
        fix = "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf(); or leave it, if you accept that."
        yield Finding(text, fix, Level.ADVICE)


@examination("journal")
def journal() -> Iterator[Finding]:
    """SQLite: one writer at a time is enough only if readers do not hold it up."""
    if is_postgres():
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA journal_mode")
        mode = cursor.fetchone()[0]
    if mode not in ("wal", "memory"):
        text = f"The journal of SQLite is {mode!r}, so that readers and writers wait for each other."
        yield Finding(text, "Add 'init_command': 'PRAGMA journal_mode=WAL;' to OPTIONS of DATABASES.", Level.ADVICE)


@examination("connections")
def connections() -> Iterator[Finding]:
    if not is_postgres():
        return
    most = int(parameter("max_connections")) - int(parameter("superuser_reserved_connections"))
    live = Worker.objects.live()
    needed = live.count() * OF_A_WORKER + (live.aggregate(slots=Sum("slots"))["slots"] or 0)
    if needed > 0.9 * most:
        text = f"The workers may need {needed} connections, and the server has {most} for all."
        fix = f"ALTER SYSTEM SET max_connections = {2 * needed}; then restart it. Or put PgBouncer in front of it."
        yield Finding(text, fix)


@examination("transactions")
def transactions() -> Iterator[Finding]:
    oldest, idle = open_transactions()
    if 0 < conf.ALERT_LONG_TRANSACTION < oldest:
        text = f"A transaction has been open for {human_duration(oldest)}: no dead row can be removed until it ends."
        yield Finding(text, f"{LOOK}; then SELECT pg_terminate_backend(pid);")
    if idle > LONGEST_IDLE:
        text = f"A connection has been idle in a transaction for {human_duration(idle)}: somebody forgot to commit."
        yield Finding(text, f"{LOOK}; or ALTER SYSTEM SET idle_in_transaction_session_timeout = '5min';", Level.ADVICE)


@examination("clock")
def clock() -> Iterator[Finding]:
    """All that is shared is decided by the database's clock; logs and times of files are of this machine."""
    before = datetime.now(UTC)
    there = database_now()
    here = before + (datetime.now(UTC) - before) / 2
    apart = abs((there - here).total_seconds())
    if apart > CLOCK_TOLERANCE:
        text = f"The clocks of this machine and of the database are {human_duration(apart)} apart."
        yield Finding(text, "Let both follow the same time: timedatectl set-ntp true.", Level.ADVICE)


@examination("heartbeats")
def heartbeats() -> Iterator[Finding]:
    """By the database's clock: who is late is about to be given up; one of the future: the clock went back."""
    now = database_now()
    for worker in Worker.objects.live().order_by("name")[:1000]:
        age = (now - (worker.last_heartbeat or worker.registered_at)).total_seconds()
        if age < -CLOCK_TOLERANCE:
            text = f"Worker {worker.name} was last heard of {human_duration(-age)} in the future: the database's clock "
            yield Finding(text + "went back.", "Let the database's machine follow the time: timedatectl set-ntp true.")
        elif age > conf.WORKER_OFFLINE_THRESHOLD + 3 * conf.REAP_INTERVAL:
            text = f"Worker {worker.name} is {worker.status}, but silent for {human_duration(age)}: nobody reaps."
            yield Finding(text, "Run `manage.py reap_stale`, and start a worker, or have cron do it.")
