"""pgqueuer: its documented set-up, asyncpg on uvloop, with the batch size that measured best here."""

import asyncio
from typing import Any

import asyncpg  # type: ignore[import-not-found]  # in the environment of the sides
from pgqueuer import PgQueuer  # type: ignore[import-not-found]
from pgqueuer.db import AsyncpgDriver  # type: ignore[import-not-found]
from pgqueuer.queries import Queries  # type: ignore[import-not-found]

from benchmarks.sides.side import Side, database_url, main, note

BATCH = 500


class Pgqueuer(Side):
    distribution = "pgqueuer"
    how = f"asyncpg, uvloop, batch_size {BATCH}, LISTEN/NOTIFY"
    tables = ("pgqueuer", "pgqueuer_log", "pgqueuer_statistics")
    done = "SELECT count(*) FROM pgqueuer_log WHERE status = 'successful'"
    jobs = 40_000

    def setup(self) -> None:
        self.connect()
        self.run(self.queries.install())

    def connect(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.queries = Queries.from_asyncpg_connection(self.run(asyncpg.connect(database_url())))

    def run(self, coroutine: Any) -> Any:
        return self.loop.run_until_complete(coroutine)

    def enqueue(self, sent: int | None = None) -> None:
        if sent is None:
            self.run(self.queries.enqueue("none", None))
        else:
            self.run(self.queries.enqueue("stamp", str(sent).encode()))

    def enqueue_many(self, number: int) -> None:
        self.run(self.queries.enqueue(["none"] * number, [None] * number, [0] * number))

    def work(self) -> None:
        import uvloop  # type: ignore[import-not-found]

        uvloop.run(serve())


async def serve() -> None:
    queue = PgQueuer(AsyncpgDriver(await asyncpg.connect(database_url())))

    @queue.entrypoint("none")
    async def none(job: Any) -> None:
        pass

    @queue.entrypoint("stamp")
    async def stamp(job: Any) -> None:
        note(int(job.payload))

    await queue.run(batch_size=BATCH)


if __name__ == "__main__":
    main(Pgqueuer())
