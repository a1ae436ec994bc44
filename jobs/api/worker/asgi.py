"""Lets claims wait for work: an ASGI application around the site's own, which repeats a claim when there may be some.

A view that waited would hold a thread and a database connection. So it only says that the claim would wait (`hold`)
and is done with it. When a queue has work the same request is passed to the site again: a claim can be repeated, and
its key is checked anew each time.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass

from django.http import HttpRequest

from jobs.api.admission import SMALL
from jobs.api.events.asgi import Application, Message, Receive, Scope, Send
from jobs.api.stopping import Stopping
from jobs.api.worker.pulse import Pulse
from jobs.api.worker.waiting_room import Full, Waiter, room
from jobs.wire.names import ADDRESS

KEY = "jobs.claim"
THAT_WAIT = (f"/{ADDRESS}claim", f"/{ADDRESS}listen")


@dataclass
class Slot:
    """Where a view leaves the waiter; it is in the scope of every claim."""

    loop: asyncio.AbstractEventLoop
    waiter: Waiter | None = None
    until: float = 0.0  # by the loop's clock
    is_held: bool = False


def slot_of(request: HttpRequest) -> Slot | None:
    slot: Slot | None = getattr(request, "scope", request.META).get(KEY)
    return slot


def hold(request: HttpRequest, queues: Collection[str], seconds: float) -> bool:
    """Let this claim be repeated when there may be work; False where its time is over, or nothing can wait here."""
    slot = slot_of(request)
    if slot is None or seconds <= 0:
        return False
    if slot.waiter is None:
        waiter = Waiter(frozenset(queues), slot.loop)
        try:
            room.join(waiter)
        except Full:
            return False
        slot.waiter, slot.until = waiter, slot.loop.time() + seconds
    slot.is_held = slot.loop.time() < slot.until
    return slot.is_held


class LongPolls:
    """`application = LongPolls(get_asgi_application())`"""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._stopping = Stopping(room.wake_all)
        self.pulse = Pulse()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(scope, receive, send)
            return
        path = scope.get("path", "")
        if f"/{ADDRESS}" in path:
            self.pulse.start()
        if scope["type"] == "http" and scope["method"] == "POST" and path.endswith(THAT_WAIT):
            await self._claim(scope, receive, send)
        else:
            await self.application(scope, receive, send)

    async def _live(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.pulse.start()
        try:
            await self.application(scope, receive, send)
        finally:
            await asyncio.to_thread(self.pulse.close)

    async def _claim(self, scope: Scope, receive: Receive, send: Send) -> None:
        slot = Slot(asyncio.get_running_loop())
        sent = Sent(receive)
        try:
            while True:
                slot.is_held = False
                answer: list[Message] = []
                await self.application({**scope, KEY: slot}, sent.again(), collecting(answer))
                if not slot.is_held or slot.waiter is None or sent.is_too_large:
                    break
                self._stopping.watch()
                if await until_woken(slot, slot.waiter, receive):
                    return  # nobody is there to take a job
                if self._stopping.is_told:
                    slot.until = 0.0  # the next answer is the last
        finally:
            if slot.waiter:
                room.leave(slot.waiter)
        for message in answer:
            await send(message)


class Sent:
    """What the worker sent, to be read as often as the claim is repeated."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._kept: list[Message] = []
        self._is_whole = False
        self._size = 0

    @property
    def is_too_large(self) -> bool:
        return self._size > SMALL

    def again(self) -> Receive:
        kept = iter(list(self._kept))

        async def receive() -> Message:
            for message in kept:
                return message
            message = await self._receive()
            if not self._is_whole and message["type"] == "http.request":
                self._size += len(message.get("body", b""))
                self._is_whole = not message.get("more_body", False)
                if not self.is_too_large:
                    self._kept.append(message)
            return message

        return receive


def collecting(messages: list[Message]) -> Send:
    async def send(message: Message) -> None:
        messages.append(message)

    return send


async def until_woken(slot: Slot, waiter: Waiter, receive: Receive) -> bool:
    """Until there may be work, or the time is over; returns whether the worker has gone."""
    gone = asyncio.ensure_future(disconnected(receive))
    woken = asyncio.ensure_future(waiter.event.wait())
    try:
        patience = max(0.0, slot.until - slot.loop.time())
        await asyncio.wait({gone, woken}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        return gone.done()
    finally:
        waiter.event.clear()
        for task in (gone, woken):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


async def disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
