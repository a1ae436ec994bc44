"""Speaks HTTP with the server: authenticated, verified, within a time, through the proxy the environment names.

urllib3 does it: kept, small, with nothing below it but the standard library; its pool is shared by threads, keeps
connections open, and streams both ways. Calls are repeated by whoever made them, who knows how long that is worth it.
"""

import ssl
from collections.abc import Mapping
from types import TracebackType
from typing import IO, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3
from urllib3.exceptions import HTTPError, SSLError

from jobs import __version__
from jobs.sanitise import clean_error
from jobs.wire.body import to_bytes
from jobs.wire.names import KEY_HEADER, PROCESS_HEADER
from jobs.worker.http_certificates import not_trusted
from jobs.worker.http_errors import Strange, not_ours, raise_for, understood
from jobs.worker.http_server import Server
from jobs.worker.queue_client import QueueUnavailable

CONNECT, ANSWER = 10.0, 30.0  # seconds
KEPT = 8  # connections: one for each thread that speaks at once
BLOCK = 64 * 1024
LONGEST_ERROR = 64 * 1024
SHOWN = 300


class Streamed:
    """An answer whose body is read bit by bit. Close it, or read it to its end."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._response = response
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers

    def read(self, most: int = BLOCK) -> bytes:
        """Empty at the end; a body that ends too early is an error, never an end."""
        try:
            return self._response.read(most)
        except HTTPError as error:
            raise QueueUnavailable(in_words(error)) from error

    def raise_for_error(self, job_id: int = 0) -> None:
        """As `call` does, for whoever looked at the status."""
        raise_for(self.status, self.headers, self.read(LONGEST_ERROR), job_id)

    def close(self) -> None:
        self._response.close()
        self._response.release_conn()

    def __enter__(self) -> "Streamed":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


class HttpConnection:
    """For one process, all threads of it. Not to be taken through a fork: make another from its `server`."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.is_known = False  # it has answered as a Jobyard server does: what is odd from now on will pass
        self._pool = pool_for(server.url, server.ca_file)
        self._headers = {
            KEY_HEADER: server.key,
            PROCESS_HEADER: str(server.process),
            "User-Agent": f"Jobyard/{__version__}",
        }

    def call(
        self,
        method: str,
        path: str,
        message: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = ANSWER,
        job_id: int = 0,
    ) -> Any:
        """Send JSON, return JSON. `job_id` says which job's claim is lost if the server says that one is."""
        body = None if message is None else to_bytes(message)
        more = {**(headers or {}), **({} if body is None else {"Content-Type": "application/json"})}
        response = self._send(method, path, more, body, timeout, preload=True)
        try:
            if not 200 <= response.status < 300:
                raise_for(response.status, response.headers, response.data, job_id)
            answer = understood(response.data) if response.data else None
        except Strange as strange:
            raise self._judged(strange) from None
        self.is_known = True
        return answer

    def open(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | IO[bytes] | None = None,
        *,
        length: int | None = None,
        timeout: float = ANSWER,
    ) -> Streamed:
        """Send bytes or a file of `length` bytes, and return the answer whatever its status; its body is not read yet.

        The time is that between two bytes: a large file may take as long as it needs, while it moves.
        """
        more = {**(headers or {}), **({} if length is None else {"Content-Length": str(length)})}
        return Streamed(self._send(method, path, more, body, timeout, preload=False))

    def close(self) -> None:
        for key in list(self._pool.pools.keys()):  # `clear` only forgets them
            self._pool.pools[key].close()
        self._pool.clear()

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: Any, timeout: float, *, preload: bool
    ) -> urllib3.BaseHTTPResponse:
        try:
            return self._pool.request(
                method,
                self.server.api + path,
                body=body,
                headers={**self._headers, **headers},
                timeout=urllib3.Timeout(connect=CONNECT, read=timeout),
                retries=False,
                redirect=False,
                preload_content=preload,
            )
        except SSLError as error:
            raise self._judged(error) from error
        except (HTTPError, OSError) as error:
            raise QueueUnavailable(in_words(error)) from error

    def _judged(self, odd: Exception) -> Exception:
        """From a server that we know, it is a passing trouble; a worker that has work does not give up for it."""
        if self.is_known:
            return QueueUnavailable(in_words(odd))
        if isinstance(odd, SSLError):
            return not_trusted(self.server.url, odd)
        return not_ours(self.server.url, odd)


def pool_for(url: str, ca_file: str = "") -> urllib3.PoolManager:
    """Through the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for this address, if any."""
    parts = urlsplit(url)
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    proxy = None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)
    if not proxy:
        return urllib3.PoolManager(maxsize=KEPT, ssl_context=context)
    told = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    login = urllib3.make_headers(proxy_basic_auth=f"{told.username}:{told.password or ''}") if told.username else None
    address = f"{told.scheme}://{told.hostname}:{told.port or 80}"
    return urllib3.ProxyManager(address, maxsize=KEPT, ssl_context=context, proxy_headers=login)


def in_words(error: Exception) -> str:
    return clean_error(getattr(error, "reason", None) or error, SHOWN)
