"""Who looks on while a queue is at work: readers of live streams, and a person who clicks through the admin."""

import asyncio
import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from benchmarks.streams import Server, request

PAGES = (
    "/admin/jobs/job/", "/admin/jobs/job/?state=completed", "/admin/jobs/queue/", "/admin/jobs/worker/", "/admin/",
    "/api/queue/depth",
)  # fmt: skip
STREAM = "/api/events/jobs"
IN_ORDER = ("old", "slow")  # why a server ends a stream that goes on when the reader comes back: docs/live.md
THINKS = 1.0  # seconds between two clicks, on average
PATIENCE = 60.0  # for a page
COMES_BACK = 3.0  # after so many seconds, as the stream itself tells browsers to
SILENCE = 120.0  # four pings


@dataclass
class Following:
    """One reader: where it is, and whether it was ever told anything."""

    position: str = ""
    begun: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Visitors(threading.Thread):
    """A thread with an event loop of its own: `visitors.start()` … `visitors.stop()`."""

    server: Server
    cookie: str
    readers: int
    clicks: dict[str, list[float]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)  # whatever went otherwise than it should
    ended: "Counter[str]" = field(default_factory=Counter)  # streams, by the reason they were told
    frames: int = 0

    def __post_init__(self) -> None:
        super().__init__(name="visitors", daemon=True)
        self._over, self._ready = threading.Event(), threading.Event()

    __hash__ = threading.Thread.__hash__

    def wait_until_ready(self, seconds: float = SILENCE + PATIENCE) -> None:
        if not self._ready.wait(seconds):
            raise TimeoutError(f"Not every reader has its stream after {seconds:.0f} s: {self.failures[:5]}")

    def stop(self) -> None:
        self._over.set()
        self.join(2 * PATIENCE)
        if self.is_alive():
            self.failures.append("the visitors did not stop")

    def run(self) -> None:
        try:
            asyncio.run(self.look_on())
        except Exception as error:
            self.failures.append(f"the visitors are gone: {error!r}")

    async def look_on(self) -> None:
        await self.server.wait_until_it_answers()
        for page in PAGES:  # what the first visit of all costs is another question
            await self.visited(page)
        following = [Following() for _ in range(self.readers)]
        reading = [asyncio.create_task(self.read(each)) for each in following]
        try:
            async with asyncio.timeout(SILENCE):
                await asyncio.gather(*(each.begun.wait() for each in following))
            self._ready.set()
            await self.click()
        finally:
            self.failures += ["a reader is gone"] * sum(task.done() for task in reading)
            for task in reading:
                task.cancel()
            await asyncio.gather(*reading, return_exceptions=True)

    async def read(self, following: Following) -> None:
        """Comes back when its stream ends, as a browser does, and says what it was told last."""
        while True:
            try:
                reason = await self.follow(following)
            except Exception as error:
                self.failures.append(f"stream: {error!r}")
            else:
                self.ended[reason] += 1
                if reason not in IN_ORDER:
                    self.failures.append(f"stream: ended, {reason}")
            await asyncio.sleep(COMES_BACK)

    async def follow(self, following: Following) -> str:
        """One stream to its end, and the reason for that."""
        path = f"{STREAM}?after={following.position}" if following.position else STREAM
        reader, writer = await request(self.server, path, self.cookie)
        try:
            async with asyncio.timeout(SILENCE) as patience:
                status = status_of(await head_of(reader))
                if status != "200":
                    return f"refused with {status}"
                return await self.told(reader, following, patience)
        finally:
            writer.close()

    async def told(self, reader: asyncio.StreamReader, following: Following, patience: asyncio.Timeout) -> str:
        event = b""
        while line := await reader.readline():
            if line.startswith(b"event: "):
                event = line[7:].strip()
            elif line.startswith(b"id: "):
                following.position = line[4:].decode().strip()
            elif line.startswith(b"data: "):
                self.frames += 1
                following.begun.set()
                if event == b"end":
                    return str(json.loads(line[6:])["reason"])
                if event == b"ping":
                    patience.reschedule(asyncio.get_running_loop().time() + SILENCE)
        return "without a word"

    async def click(self) -> None:
        chance = random.Random(1)
        while not self._over.is_set():
            page = chance.choice(PAGES)
            began = time.perf_counter()
            if await self.visited(page):
                self.clicks.setdefault(page, []).append(time.perf_counter() - began)
            await asyncio.sleep(chance.uniform(0.5, 1.5) * THINKS)

    async def visited(self, page: str) -> bool:
        """Whether the page came; why not is noted."""
        try:
            async with asyncio.timeout(PATIENCE):
                status = await self.visit(page)
        except Exception as error:
            status = repr(error)
        if status != "200":
            self.failures.append(f"{page}: {status}")
        return status == "200"

    async def visit(self, page: str) -> str:
        reader, writer = await request(self.server, page, self.cookie)
        try:
            head = await head_of(reader)
            if "content-length: " in head:
                await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
            return status_of(head)
        finally:
            writer.close()


async def head_of(reader: asyncio.StreamReader) -> str:
    return (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()


def status_of(head: str) -> str:
    return head.split(" ")[1]
