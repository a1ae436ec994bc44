"""In every process that speaks with the database: when it let somebody through is noted by the database's own clock."""

from collections.abc import Callable
from functools import wraps

from django.apps import AppConfig
from django.db import connection

from jobs.handlers.base import ClaimRef
from tests.chaos.history import told

CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"


def database_time() -> float:
    with connection.cursor() as cursor:
        cursor.execute(CLOCK)
        return float(cursor.fetchone()[0])


def noting(verify: Callable[[ClaimRef], None]) -> Callable[[ClaimRef], None]:
    @wraps(verify)
    def noted(claim: ClaimRef) -> None:
        asked = database_time()  # whoever asks may have been stopped on the way to here
        verify(claim)
        told("guard", claim.job_id, claim=str(claim.claim_id), at=asked)

    return noted


class Chaos(AppConfig):
    name = "tests.chaos"

    def ready(self) -> None:
        from jobs.lifecycle import fence

        fence.verify = noting(fence.verify)  # type: ignore[assignment]  # alike but for the name of its argument
