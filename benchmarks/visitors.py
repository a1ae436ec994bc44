"""Who looks on while a queue is at work: readers of live streams, and a person who clicks through the admin."""

import asyncio
import random
import threading
import time
from dataclasses import dataclass, field

from benchmarks.streams import Server, request

PAGES = (
    "/admin/jobs/job/", "/admin/jobs/job/?state=completed", "/admin/jobs/queue/", "/admin/jobs/worker/", "/admin/",
    "/api/queue/depth",
)  # fmt: skip
THINKS = 1.0  # seconds between two clicks, on average


@dataclass
class Visitors(threading.Thread):
    """A thread with an event loop of its own: `visitors.start()` … `visitors.stop()`."""

    server: Server
    cookie: str
    readers: int
    clicks: dict[str, list[float]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    frames: int = 0

    def __post_init__(self) -> None:
        super().__init__(name="visitors")
        self._over, self.ready = threading.Event(), threading.Event()

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        asyncio.run(self.look_on())

    def stop(self) -> None:
        self._over.set()
        self.join(60)

    async def look_on(self) -> None:
        await self.server.wait_until_it_answers()
        for page in PAGES:  # what the first visit of all costs is another question
            await self.visit(page)
        reading = [asyncio.create_task(self.read()) for _ in range(self.readers)]
        self.ready.set()
        await self.click()
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)

    async def read(self) -> None:
        """Comes back when its stream ends, as a browser does."""
        while True:
            try:
                reader, writer = await request(self.server, "/api/events/jobs", self.cookie)
                try:
                    while line := await reader.readline():
                        self.frames += line.startswith(b"data:")
                finally:
                    writer.close()
            except (OSError, ValueError) as error:  # the latter: a line beyond all limits
                self.refused.append(f"stream: {error!r}")
            await asyncio.sleep(1)

    async def click(self) -> None:
        chance = random.Random(1)
        while not self._over.is_set():
            page = chance.choice(PAGES)
            began = time.perf_counter()
            status = await self.visit(page)
            self.clicks.setdefault(page, []).append(time.perf_counter() - began)
            if status != "200":
                self.refused.append(f"{page}: {status}")
            await asyncio.sleep(chance.uniform(0.5, 1.5) * THINKS)

    async def visit(self, page: str) -> str:
        reader, writer = await request(self.server, page, self.cookie)
        try:
            head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode("latin-1").lower()
            if "content-length: " in head:
                await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
            return head.split(" ")[1]
        finally:
            writer.close()
