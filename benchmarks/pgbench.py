"""What PostgreSQL does by itself: pgbench on the smallest table that can still be called a durable job queue."""

import re
import subprocess
from pathlib import Path

import psycopg

from tests.postgres import Postgres

SCRIPTS = Path(__file__).parent / "limit"
DATABASE = "pgbench_limit"
RATE = re.compile(r"^tps = ([\d.]+) \(without", re.MULTILINE)


class Limit:
    def __init__(self, server: Postgres) -> None:
        self.server = server
        self.tool = server.binaries() / "pgbench"
        with psycopg.connect(server.url(), autocommit=True) as admin:
            admin.execute(f"CREATE DATABASE {DATABASE}")

    def seconds_per_job(self, script: str, *, runs: int, jobs_per_run: int = 1, preload: bool = False) -> float:
        """One client runs a script so many times; preloaded with as many jobs as it will take."""
        with psycopg.connect(self.server.url(DATABASE), autocommit=True) as admin:
            admin.execute((SCRIPTS / "schema.sql").read_text())
            if preload:
                admin.execute(
                    "INSERT INTO q (payload) SELECT '{\"video\": 1}' FROM generate_series(1, %s)", [runs * jobs_per_run]
                )
                admin.execute("VACUUM ANALYZE q")
        return 1 / (self.rate(script, runs) * jobs_per_run)

    def rate(self, script: str, runs: int) -> float:
        where = ["-h", "127.0.0.1", "-p", str(self.server.port), "-U", "jobyard", DATABASE]
        how = ["-n", "-M", "prepared", "-c", "1", "-t", str(runs), "-f", str(SCRIPTS / f"{script}.sql")]
        done = subprocess.run([str(self.tool), *how, *where], check=True, capture_output=True, text=True, timeout=300)
        rate = RATE.search(done.stdout)
        assert rate, f"pgbench said no rate: {done.stdout}"
        return float(rate.group(1))
