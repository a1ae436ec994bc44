"""`make bench`: measures Jobyard on a private PostgreSQL that commits durably, and writes down every sample."""

import argparse
import os
import secrets

import django

from benchmarks.scale import FULL, QUICK
from tests.postgres import BENCHMARK_CONF, Postgres


def boot(server: Postgres) -> None:
    """Set Django up as in production: with DEBUG on it would keep, and pay for, a log of every statement."""
    os.environ.update(
        DATABASE_URL=server.url(),
        DEBUG="0",
        SECRET_KEY=secrets.token_urlsafe(50),
        LOG_LEVEL="WARNING",
        DJANGO_SETTINGS_MODULE="project.settings",
    )
    django.setup()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables and fewer samples: about a minute")
    quick = parser.parse_args().quick
    # Less WAL is kept than the server could, so that the whole run fits into five gigabytes of disk.
    with Postgres({**BENCHMARK_CONF, "max_wal_size": "2GB"}) as server:
        boot(server)
        from benchmarks import report, suite  # they import models, which need Django to be set up

        result = suite.run(server, QUICK if quick else FULL)
        print(f"Written to {os.path.relpath(report.save(result, quick=quick))}")


if __name__ == "__main__":
    main()
