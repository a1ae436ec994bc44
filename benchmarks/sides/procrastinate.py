"""procrastinate: its own worker command, with the concurrency that measured best here."""

import os
import sys

import procrastinate  # type: ignore[import-not-found]  # in the environment of the sides

from benchmarks.sides.side import Side, database_url, main, note

CONCURRENCY = 5
app = procrastinate.App(
    connector=procrastinate.PsycopgConnector(conninfo=database_url(), min_size=CONCURRENCY, max_size=CONCURRENCY)
)


@app.task(name="none")
async def none() -> None:
    pass


@app.task(name="stamp")
async def stamp(sent: int) -> None:
    note(sent)


class Procrastinate(Side):
    distribution = "procrastinate"
    how = f"async worker, concurrency {CONCURRENCY}, LISTEN/NOTIFY"
    tables = ("procrastinate_jobs", "procrastinate_events")
    done = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"
    jobs = 3_000

    def setup(self) -> None:
        self.connect()
        self.app.schema_manager.apply_schema()

    def connect(self) -> None:
        self.replaced = app.replace_connector(procrastinate.SyncPsycopgConnector(conninfo=database_url()))
        self.app = self.replaced.__enter__()  # until this process ends
        self.app.open()
        self.none, self.stamp = self.app.tasks["none"], self.app.tasks["stamp"]

    def enqueue(self, sent: int | None = None) -> None:
        if sent is None:
            self.none.defer()
        else:
            self.stamp.defer(sent=sent)

    def enqueue_many(self, number: int) -> None:
        self.none.batch_defer(*({} for _ in range(number)))

    def work(self) -> None:
        where = "--app=benchmarks.sides.procrastinate.app"
        how = ["--log-level=warning", "worker", f"--concurrency={CONCURRENCY}"]
        os.execv(sys.executable, [sys.executable, "-m", "procrastinate", where, *how])


if __name__ == "__main__":
    main(Procrastinate())
