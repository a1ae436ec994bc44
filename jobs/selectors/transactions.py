"""How long others have had transactions open in this database."""

from django.db import connection

from jobs.db import is_postgres

# What belongs to other users is hidden from who may not read statistics; then it is NULL, and not counted.
OPEN = """
SELECT COALESCE(EXTRACT(EPOCH FROM MAX(CLOCK_TIMESTAMP() - xact_start)), 0)::double precision,
       COALESCE(EXTRACT(EPOCH FROM MAX(CLOCK_TIMESTAMP() - state_change)
                FILTER (WHERE state LIKE 'idle in transaction%%')), 0)::double precision
FROM pg_stat_activity
WHERE datname = CURRENT_DATABASE() AND pid <> PG_BACKEND_PID() AND backend_type = 'client backend'
"""


def longest_transaction() -> float:
    return open_transactions()[0]


def open_transactions() -> tuple[float, float]:
    """Seconds that the oldest one is open, and that one which does nothing has done so. SQLite has none to see."""
    if not is_postgres():
        return 0.0, 0.0
    with connection.cursor() as cursor:
        cursor.execute(OPEN, [])
        oldest, idle = cursor.fetchone()
    return oldest, idle
