"""Holds the streams: an ASGI application around the site's own, which opens them and is then done with them.

A view cannot hold a stream cheaply: behind it stand a thread, and mostly a database connection. So the view only says
who reads what (`open_stream`) and returns; what it returned becomes the head of the stream.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest

from jobs.api.events.frames import frame, reconnect_after
from jobs.api.events.hub import hub
from jobs.api.events.reader import End, Reader
from jobs.api.events.wanted import Wanted
from jobs.api.stopping import Stopping
from jobs.conf import conf

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

KEY = "jobs.stream"
SENT_WITHIN = 30.0  # seconds: a reader that takes longer for what is sent in one go is cut off


@dataclass
class Slot:
    """Where a view leaves the reader; it is in the scope of every request that could become a stream."""

    loop: asyncio.AbstractEventLoop
    reader: Reader | None = None


def slot_of(request: HttpRequest) -> Slot | None:
    """Whoever shows a page asks this, too: where there are no streams, its script need not try."""
    slot: Slot | None = getattr(request, "scope", request.META).get(KEY)
    return slot


def open_stream(request: HttpRequest, wanted: Wanted) -> bool:
    """Let this request become a stream when it is answered; False where the server cannot hold any. Raises Full."""
    slot = slot_of(request)
    if slot is None:
        return False
    reader = Reader(wanted, slot.loop)
    hub.join(reader)
    slot.reader = reader
    return True


class Streams:
    """`application = Streams(get_asgi_application())`"""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._stopping = Stopping(lambda: hub.end_all(End.STOPPING))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.application(scope, receive, send)
            return
        slot = Slot(asyncio.get_running_loop())
        scope = {**scope, KEY: slot}
        try:
            head = Head(send, slot)
            await self.application(scope, receive, head.send)
            if slot.reader and head.start:
                self._end_with_the_server(slot.reader)
                await stream(slot.reader, head.start, receive, send)
        finally:
            if slot.reader:
                hub.leave(slot.reader)

    def _end_with_the_server(self, reader: Reader) -> None:
        """A server that stops waits for its answers to be complete, and streams would never be."""
        if self._stopping.is_told:
            reader.finish(End.STOPPING)
        self._stopping.watch()


class Head:
    """Lets an ordinary answer pass, and keeps the head of one that becomes a stream."""

    def __init__(self, send: Send, slot: Slot) -> None:
        self._send, self._slot = send, slot
        self.start: Message | None = None

    async def send(self, message: Message) -> None:
        if self._slot.reader is None or (message["type"] == "http.response.start" and message["status"] != 200):
            await self._send(message)
        elif message["type"] == "http.response.start":
            kept = [pair for pair in message["headers"] if pair[0].lower() != b"content-length"]
            self.start = {**message, "headers": kept}
        elif self.start is None:
            await self._send(message)  # the rest of another answer: something between the view and us put it there


async def stream(reader: Reader, start: Message, receive: Receive, send: Send) -> None:
    watch = asyncio.ensure_future(until_gone(reader, receive))
    try:
        async with asyncio.timeout(SENT_WITHIN):
            await send(start)
        await pump(reader, send)
    except TimeoutError:
        reader.finish(End.SLOW)  # not ended in order: it would not take that either
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch


async def until_gone(reader: Reader, receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    reader.finish(End.GONE)


async def pump(reader: Reader, send: Send) -> None:
    """Send what there is, a sign of life now and then, and in the end why it ends."""
    clock = reader.loop.time
    ping = clock() + conf.SSE_PING
    old = clock() + conf.SSE_MAX_AGE * random.uniform(0.9, 1.0)  # so that not all come back at once
    chunk = reconnect_after(conf.SSE_RECONNECT)
    while not reader.end:
        if chunk:
            await send_within(send, chunk)
        chunk = await reader.take(max(0.0, min(ping, old) - clock()))
        if clock() >= old:
            reader.finish(End.OLD)
        elif clock() >= ping:
            chunk += frame("ping", {}, reader.position)
            ping = clock() + conf.SSE_PING
    if reader.end != End.GONE:
        chunk += frame("end", {"reason": reader.end})
        await send_within(send, chunk, more=False)


async def send_within(send: Send, body: bytes, *, more: bool = True) -> None:
    async with asyncio.timeout(SENT_WITHIN):
        await send({"type": "http.response.body", "body": body, "more_body": more})
