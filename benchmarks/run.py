"""`make bench`: measures Jobyard on a private PostgreSQL that commits durably, and writes down every sample."""

import argparse
import os
import secrets
from dataclasses import replace

import django

from benchmarks.scale import FULL, QUICK
from tests.postgres import BENCHMARK_CONF, Postgres

PARTS = ("sides", "sqlite", "worker", "verbs", "rows")


def boot(server: Postgres) -> None:
    """Set Django up as in production: with DEBUG on it would keep, and pay for, a log of every statement."""
    os.environ.update(
        DATABASE_URL=server.url(),
        DEBUG="0",
        SECRET_KEY=secrets.token_urlsafe(50),
        ALLOWED_HOSTS="localhost",
        LOG_LEVEL="WARNING",
        DJANGO_SETTINGS_MODULE="project.settings",
    )
    django.setup()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller tables and fewer samples: about a minute")
    parser.add_argument("--only", choices=PARTS, action="append", help="only this part; may be given several times")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds in turns, instead of the usual number")
    options = parser.parse_args()
    scale = QUICK if options.quick else FULL
    if options.rounds:
        scale = replace(scale, rounds=options.rounds, side_rounds=options.rounds)
    # Less WAL is kept than the server could, so that the whole run fits into five gigabytes of disk.
    with Postgres({**BENCHMARK_CONF, "max_wal_size": "2GB"}) as server:
        boot(server)
        from benchmarks import report, suite  # they import models, which need Django to be set up

        result = suite.run(server, scale, options.only or PARTS)
        suffix = "".join(f"-{part}" for part in options.only or ()) + ("-quick" if options.quick else "")
        print(f"Written to {os.path.relpath(report.save(result, suffix))}")


if __name__ == "__main__":
    main()
