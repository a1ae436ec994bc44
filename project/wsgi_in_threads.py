"""Serves a WSGI application by ASGI, in a fixed number of threads.

Django's own ASGI handler would start a thread, and with it a database connection, for each request, read whole uploads
before anybody asks who sends them, and whole files before the first byte leaves. Here everything stays as under WSGI:
threads keep their connections, uploads and files pass block by block.
"""

import asyncio
import io
import queue
import sys
import threading
from collections.abc import Callable, Coroutine, Iterable, MutableMapping
from typing import Any
from urllib.parse import unquote_to_bytes

from django.db import connections

from project.pace import CUT, Message, Pace, Receive, Send, all_of_it, say_too_slow

Scope = MutableMapping[str, Any]
BLOCK = 64 * 1024


class WsgiInThreads:
    def __init__(self, application: Callable[..., Iterable[bytes]], threads: int) -> None:
        self.application, self.most = application, threads
        self._tasks: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0  # tasks that were given and are not done: only the loop counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            try:
                receive = await all_of_it(scope, receive)
            except TimeoutError:
                await say_too_slow(send)
            else:
                await self._in_a_thread(Exchange(scope, receive, send, asyncio.get_running_loop()))

    async def _live(self, receive: Receive, send: Send) -> None:
        while (await receive())["type"] != "lifespan.shutdown":
            await send({"type": "lifespan.startup.complete"})
        await asyncio.to_thread(self.close)
        await send({"type": "lifespan.shutdown.complete"})

    async def _in_a_thread(self, exchange: "Exchange") -> None:
        done: asyncio.Future[None] = exchange.loop.create_future()

        def task() -> None:
            error = exchange.run(self.application)
            exchange.loop.call_soon_threadsafe(settle, done, error)

        self._busy += 1
        if self._busy > len(self._threads) and len(self._threads) < self.most:
            thread = threading.Thread(target=self._work, name="web", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._tasks.put(task)
        try:
            await asyncio.shield(done)
        finally:
            self._busy -= 1

    def _work(self) -> None:
        try:
            while task := self._tasks.get():
                task()
        finally:
            connections.close_all()

    def close(self) -> None:
        """End the threads, each when it has done what it is at."""
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


def settle(done: "asyncio.Future[None]", error: BaseException | None) -> None:
    if done.done():
        return
    if error:
        done.set_exception(error)
    else:
        done.set_result(None)


class Exchange:
    """A request and its answer. Its thread waits for the loop whenever there is something to read or to send."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, loop: asyncio.AbstractEventLoop) -> None:
        self.scope, self.loop = scope, loop
        self._receive, self._send = receive, send
        self._start: Message | None = None
        self._watch: asyncio.Task[None] | None = None
        self._pace, self._reading = Pace(), Pace()
        self.gone = False

    def run(self, application: Callable[..., Iterable[bytes]]) -> BaseException | None:
        try:
            body = io.BufferedReader(Body(self), BLOCK)
            parts = application(environ_of(self.scope, body), self.start_response)
            try:
                self.respond(parts)
            finally:
                if hasattr(parts, "close"):
                    parts.close()
        except BaseException as error:
            return error
        return None

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> None:
        named = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        self._start = {"type": "http.response.start", "status": int(status.split(" ", 1)[0]), "headers": named}

    def respond(self, parts: Iterable[bytes]) -> None:
        """Block by block, one late: a short answer is sent in one go."""
        last = b""
        for part in parts:
            if last and part:
                self.deliver(last, more=True)
            if self.gone:
                return
            last = part or last
        self.deliver(last, more=False)

    def deliver(self, body: bytes, *, more: bool) -> None:
        """Whoever does not take it in time is cut off, as if he had left: a film goes on where it stopped."""
        try:
            with self._reading.waiting() as seconds:
                self.wait_for(self.send(body, more=more), seconds)
        except TimeoutError:
            self.wait_for(self.cut())
        else:
            self._reading.came(len(body))

    async def cut(self) -> None:
        self.gone = True
        if self._watch:
            self._watch.cancel()
        if CUT in self.scope:
            self.scope[CUT]()

    async def send(self, body: bytes, *, more: bool) -> None:
        if self._start:
            await self._send(self._start)
            self._start = None
        if more and self._watch is None:
            self._watch = asyncio.ensure_future(self.watch())
        if not self.gone:
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
        if not more and self._watch:
            self._watch.cancel()

    async def watch(self) -> None:
        """Nobody must read a file to its end for a visitor who has left."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True

    def receive(self) -> Message:
        """Raises TimeoutError, which is an OSError, where it comes too slowly."""
        with self._pace.waiting() as seconds:
            message: Message = self.wait_for(self._received(), seconds)
        self._pace.came(len(message.get("body", b"")))
        return message

    async def _received(self) -> Message:
        return await self._receive()

    def wait_for(self, coroutine: Coroutine[Any, Any, Any], seconds: float | None = None) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, self.loop)
        try:
            return future.result(seconds)
        except TimeoutError:
            future.cancel()
            raise


class Body(io.RawIOBase):
    """What the visitor sends, as it comes."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange, self._rest, self._more = exchange, b"", True

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and self._more:
            message = self._exchange.receive()
            if message["type"] == "http.disconnect":
                raise OSError("The visitor left before the body was complete.")
            self._rest, self._more = message.get("body", b""), message.get("more_body", False)
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        return len(taken)


def environ_of(scope: Scope, body: Any) -> dict[str, Any]:
    """The request as WSGI has it (PEP 3333)."""
    path = scope.get("raw_path") or scope["path"].encode()
    server, client = scope.get("server") or ("localhost", 80), scope.get("client") or ("", 0)
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": scope.get("root_path", "").encode().decode("latin-1"),
        "PATH_INFO": unquote_to_bytes(path.split(b"?", 1)[0]).decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1] or 80),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    # Not the whole scope: an error report would show its headers, cookies and tokens too.
    environ |= {name: value for name, value in scope.items() if name.startswith("jobs.")}
    for name, value in scope["headers"]:
        if b"_" in name:  # else X_Forwarded_Proto, which no proxy removes, would pass for X-Forwarded-Proto
            continue
        key = name.decode("latin-1").upper().replace("-", "_")
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        between = "; " if key == "HTTP_COOKIE" else ","
        told = value.decode("latin-1")
        environ[key] = f"{environ[key]}{between}{told}" if key in environ else told
    return environ
