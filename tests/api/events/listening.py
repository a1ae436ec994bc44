"""A site that holds streams, and readers of them: the real application in a loop of its own, without sockets."""

import asyncio
import json
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from django.core.handlers.wsgi import WSGIHandler
from django.test import Client

from jobs.api.events.asgi import Streams
from jobs.api.events.hub import hub
from jobs.api.events.reader import End
from project.wsgi_in_threads import WsgiInThreads
from tests.patience import PATIENCE


class Frame(NamedTuple):
    event: str
    data: Any
    id: str | None


class Stream:
    """One reader. `hold` lets it take nothing more until `release`."""

    def __init__(self, site: "Site", address: str, headers: dict[str, str], method: str = "GET") -> None:
        self.site, self.text = site, ""
        self.status, self.headers = 0, {}  # type: int, dict[str, str]
        self.last_id: str | None = None
        self._came: queue.Queue[Any] = queue.Queue()
        self._may_take, self._left = site.call(make_event), site.call(make_event)
        self.release()
        path, _, query = address.partition("?")
        given = {"Host": "testserver", **headers}
        scope = {
            "type": "http", "method": method, "http_version": "1.1", "scheme": "http", "path": path,
            "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
            "server": ("localhost", 80), "client": ("127.0.0.1", 1),
        }  # fmt: skip
        self._sent_request = False
        self.task = asyncio.run_coroutine_threadsafe(site.application(scope, self._receive, self._send), site.loop)
        self.status, pairs = self._next_message()
        self.headers = {name.decode(): value.decode() for name, value in pairs}

    async def _receive(self) -> dict[str, Any]:
        if not self._sent_request:
            self._sent_request = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self._came.put((message["status"], message["headers"]))
            return
        await self._may_take.wait()
        self._came.put(message["body"])
        if not message.get("more_body"):
            self._came.put(None)

    def _next_message(self, patience: float = PATIENCE) -> Any:
        return self._came.get(timeout=patience)

    def hold(self) -> None:
        self.site.loop.call_soon_threadsafe(self._may_take.clear)

    def release(self) -> None:
        self.site.loop.call_soon_threadsafe(self._may_take.set)

    def leave(self) -> None:
        """As a browser does that closes the page."""
        self.site.loop.call_soon_threadsafe(self._left.set)
        self.task.result(PATIENCE)

    def whole(self) -> bytes:
        """The body of an answer that is no stream."""
        return b"".join(iter(self._next_message, None))

    def _block(self, patience: float = PATIENCE) -> dict[str, str] | None:
        while "\n\n" not in self.text:
            chunk = self._next_message(patience)
            if chunk is None:
                return None
            self.text += chunk.decode()
        block, self.text = self.text.split("\n\n", 1)
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        self.last_id = fields.get("id", self.last_id)
        return fields

    def frame(self, patience: float = PATIENCE) -> Frame | None:
        """The next one; None if the stream has ended. Raises queue.Empty when none comes."""
        while fields := self._block(patience):
            if "data" in fields:
                return Frame(fields["event"], json.loads(fields["data"]), fields.get("id"))
        return None

    def next(self, event: str, accept: Callable[[Any], bool] = lambda data: True) -> Any:
        """The data of the next such frame; others are passed over."""
        deadline = time.monotonic() + PATIENCE
        while frame := self.frame(max(0.01, deadline - time.monotonic())):
            if frame.event == event and accept(frame.data):
                return frame.data
        raise AssertionError(f"the stream ended without {event}")

    def job(self, job_id: int, **expected: Any) -> Any:
        """The next news of a job that says so."""
        return self.next("job", lambda job: job["id"] == job_id and expected.items() <= job.items())

    def settled(self) -> str:
        """The position, once there is one, that the stream can be taken up from."""
        while self.last_id is None:
            assert self._block()
        return self.last_id


async def make_event() -> asyncio.Event:
    return asyncio.Event()


class Site:
    def __init__(self, wrap: Callable[[Any], Any] = Streams) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="site")
        self.thread.start()
        self.threads = WsgiInThreads(WSGIHandler(), 2)
        self.application = wrap(self.threads)

    def call(self, function: Callable[[], Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(function(), self.loop).result(PATIENCE)

    def listen(self, address: str, client: Client | None = None, **headers: str) -> Stream:
        if client:
            headers["Cookie"] = f"sessionid={client.cookies['sessionid'].value}"
        return Stream(self, address, {name.replace("_", "-"): value for name, value in headers.items()})

    def close(self) -> None:
        hub.end_all(End.STOPPING)
        assert hub.wait_until_idle(PATIENCE), "the hub goes on although nobody reads"
        self.threads.close()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(PATIENCE)
        self.loop.close()


@contextmanager
def open_site(**options: Any) -> Iterator[Site]:
    site = Site(**options)
    try:
        yield site
    finally:
        site.close()
