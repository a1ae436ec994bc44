"""A real HTTP server that sends one file, and does it as badly as a test says: once for each request, then well."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jobs.serving.ranges import wanted_part, whole


class ShakyServer(ThreadingHTTPServer):
    def __init__(self, content: bytes, *mischief: str) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.content, self.mischief = content, list(mischief)
        self.asked: list[tuple[str, str]] = []  # Range and If-Range of each request
        self.keys: list[str | None] = []  # what was shown of ours

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file?signature=abc"


class Answer(BaseHTTPRequestHandler):
    server: ShakyServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = self.server
        server.asked.append((self.headers.get("Range", ""), self.headers.get("If-Range", "")))
        server.keys.append(self.headers.get("X-Worker-API-Key"))
        word = server.mischief.pop(0) if server.mischief else "whole"
        if word.isdecimal():
            return self.refuse(int(word))
        content = b"x" * len(server.content) if word == "damaged" else server.content
        return self.send(content, word)

    def refuse(self, status: int) -> None:
        body = b"<html>an error page, and no media at all</html>" * 10
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def send(self, content: bytes, word: str) -> None:
        tag = f'"{hashlib.sha256(self.server.content).hexdigest()}"'
        asked = self.headers.get("Range", "")
        same = self.headers.get("If-Range", tag) == tag
        part = (wanted_part(asked, len(content)) if asked and same and word != "no ranges" else None) or whole(
            len(content)
        )
        self.send_response(206 if part.length < len(content) else 200)
        if part.length < len(content):
            self.send_header("Content-Range", f"bytes {part.start}-{part.start + part.length - 1}/{len(content)}")
        self.send_header("Content-Length", str(part.length))
        self.end_headers()
        body = content[part.start : part.start + part.length]
        if word == "breaks":
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
            self.connection.close()
            return
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


@contextmanager
def shaky_server(content: bytes, *mischief: str) -> Iterator[ShakyServer]:
    server = ShakyServer(content, *mischief)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
