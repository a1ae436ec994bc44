"""PostgreSQL is killed and started again while a worker claims, reports and completes: nothing twice, nothing lost."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from tests.app.history import read
from tests.manage import manage
from tests.postgres import Postgres
from tests.worker.stage import AS_IN_PRODUCTION, SHORT, WorkerProcess

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]  # of the database of the tests, only the settings are used
JOBS, RESTARTS = 300, 3
TIMEOUT = 60.0
ENQUEUE = """
from jobs import NewJob, enqueue_many
said = {{"history": {history!r}, "gate": ""}}
enqueue_many(NewJob("app.saving" if number % 3 else "app.short", said) for number in range({jobs}))
"""


class Site:
    """A server of its own, for it will be killed, and a worker on it."""

    def __init__(self, server: Postgres, folder: Path) -> None:
        self.server, self.history = server, folder / "history"
        environment = {**AS_IN_PRODUCTION, "DJANGO_SETTINGS_MODULE": "tests.settings", **SHORT}
        self.environment = {**environment, "DATABASE_URL": server.url(), "JOBS_CLAIM_DURATION": "5"}
        self.run("migrate", "-v0")

    def run(self, *arguments: str) -> None:
        done = manage(*arguments, **self.environment)
        assert done.returncode == 0, done.stderr

    def counts(self) -> dict[str, int]:
        try:
            with psycopg.connect(self.server.url()) as connection:
                return dict(connection.execute("SELECT status, count(*) FROM jobs_job GROUP BY 1").fetchall())
        except psycopg.OperationalError:
            return {}

    def has_begun(self, jobs: int) -> bool:
        return sum(line.what == "start" for line in read(self.history)) >= jobs

    def wait_for(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < deadline, f"it did not happen in time: {self.counts()}"
            time.sleep(0.02)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Postgres({"fsync": "off"}) as server:
        yield Site(server, tmp_path)


def test_a_worker_outlives_a_server_that_is_killed_again_and_again(site: Site, tmp_path: Path):
    site.run("shell", "-c", ENQUEUE.format(jobs=JOBS, history=str(site.history)))
    worker = WorkerProcess(tmp_path / "log", ("--processes", "2", "--no-reaper"), site.environment)
    try:
        for number in range(1, RESTARTS + 1):
            site.wait_for(partial(site.has_begun, number * JOBS // 10))
            site.server.halt("immediate")
            site.server.launch()
        site.wait_for(lambda: site.counts() == {"completed": JOBS})
    finally:
        worker.end()
    starts = Counter(line.job for line in read(site.history) if line.what == "start")
    assert set(starts.values()) == {1}
    assert len(starts) == JOBS
