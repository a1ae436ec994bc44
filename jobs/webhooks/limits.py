"""Sockets that keep to what a whole exchange may take: a time, however slowly the other side drips, and a size."""

import socket
import ssl
from time import monotonic
from typing import Any

MOST_BYTES = 64 * 1024  # of an answer, headers and all


class OverLimit(OSError):
    """The other side took too long, or said too much."""


class Limits:
    """What is left of the time and the size of one exchange."""

    def __init__(self, seconds: float, size: int = MOST_BYTES) -> None:
        self.seconds, self.ends_at, self.size_left = seconds, monotonic() + seconds, size

    def time_left(self) -> float:
        left = self.ends_at - monotonic()
        if left <= 0:
            raise OverLimit(f"it took longer than {self.seconds:g} s")
        return left

    def spend(self, size: int) -> None:
        self.size_left -= size
        if self.size_left < 0:
            raise OverLimit(f"the answer has more than {MOST_BYTES} bytes")


class Limited:
    """A socket's own timeout is for each call: here it is what is left of the whole."""

    limits: Limits

    def recv_into(self, *arguments: Any, **options: Any) -> int:
        self.settimeout(self.limits.time_left())  # type: ignore[attr-defined]  # a socket's
        size: int = super().recv_into(*arguments, **options)  # type: ignore[misc]
        self.limits.spend(size)
        return size

    def send(self, *arguments: Any, **options: Any) -> int:
        self.settimeout(self.limits.time_left())  # type: ignore[attr-defined]
        return super().send(*arguments, **options)  # type: ignore[misc]


class PlainSocket(Limited, socket.socket):
    def sendall(self, *arguments: Any, **options: Any) -> None:
        """The system's own loop, whose timeout is for all of it."""
        self.settimeout(self.limits.time_left())
        super().sendall(*arguments, **options)


class TlsSocket(Limited, ssl.SSLSocket):
    """Its `sendall` calls `send`."""
