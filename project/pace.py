"""How long a visitor may take to send a request, and to read the answer: threads are few, and none waits for somebody
who does not go on.

A request that is short takes a thread when it is all here. A long one, an upload, takes one at once, so that who may
not send it is told first; then it has to come at a certain pace.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import contextmanager
from time import monotonic
from typing import Any

from django.conf import settings
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
SMALL = 64 * 1024  # bytes
SLOWEST = 1024  # bytes a second
CUT = "project.cut"  # in the scope of a request: hangs up at once, whatever is unsent


class Pace:
    """Of a long body, or an answer: how long it is waited for. What has come buys time for what is to come."""

    def __init__(self) -> None:
        self._left: float = settings.WEB_PATIENCE

    @contextmanager
    def waiting(self) -> Iterator[float]:
        """Gives the seconds that are left; those it takes are spent."""
        began = monotonic()
        yield self._left
        self._left -= monotonic() - began

    def came(self, size: int) -> None:
        self._left = min(settings.WEB_PATIENCE, self._left + size / SLOWEST)


async def all_of_it(scope: MutableMapping[str, Any], receive: Receive) -> Receive:
    """What is to be received once the body, if it is short, is here. Raises TimeoutError where it is not in time."""
    if not 0 < announced_length(scope) <= SMALL:
        return receive
    body, more = b"", True
    async with asyncio.timeout(settings.WEB_PATIENCE):
        while more:
            last = await receive()
            body, more = body + last.get("body", b""), last.get("more_body", False)  # a visitor who leaves ends it, too
    kept = [{**last, "body": body}]

    async def receive_kept() -> Message:
        return kept.pop() if kept else await receive()

    return receive_kept


def announced_length(scope: MutableMapping[str, Any]) -> int:
    told = next((value for name, value in scope["headers"] if name == b"content-length"), b"")
    return int(told) if told.isdigit() else 0


async def say_too_slow(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 408, "headers": headers})
    await send({"type": "http.response.body", "body": b"The body did not come in time.\n"})


class PatientProtocol(HttpToolsProtocol):
    """Neither an endless nor a dripping header; uvicorn itself waits for ever, and keeps all of it."""

    _deadline: asyncio.TimerHandle | None = None
    _in_header, _size = False, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._expect_header()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope[CUT] = self.transport.abort  # type: ignore[literal-required]  # ours
        self._in_header, self._size = True, 0
        self._expect_header()

    def on_headers_complete(self) -> None:
        self._in_header = False
        self._forget_deadline()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._in_header:
            self._size += len(data)
            if self._size > SMALL and not self.transport.is_closing():
                self.send_400_response("The header is too large.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _expect_header(self) -> None:
        self._forget_deadline()
        self._deadline = self.loop.call_later(settings.WEB_PATIENCE, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
