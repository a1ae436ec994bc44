"""A reader: what it has not been sent yet, newest version only, and never more than a little."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from jobs.api.events.wanted import Wanted

MOST_FRAMES, MOST_BYTES = 2_000, 2 * 1024 * 1024  # beside the first one, which may be a large snapshot

Frames = Iterable[tuple[str, bytes]]  # what it is about, and the frame: a later one about the same takes its place


class End(StrEnum):
    """Why a stream ends."""

    GONE = "gone"  # the reader went
    SLOW = "slow"  # it does not take what it is sent
    OLD = "old"  # whether it may still read is asked anew when it comes back
    STOPPING = "stopping"  # the server is


@dataclass(eq=False)
class Reader:
    """Belongs to an event loop: only that may call it. The hub does so by `call_soon_threadsafe`."""

    wanted: Wanted
    loop: asyncio.AbstractEventLoop
    position: int | None = None  # with what waits, it will know everything up to here
    end: End | None = None
    _waiting: dict[str, bytes] = field(default_factory=dict)
    _size: int = 0
    _something: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, frames: Frames, position: int | None) -> None:
        if self.end:
            return
        self.position = position
        for about, frame in frames:
            self._size += len(frame) - len(self._waiting.pop(about, b""))
            self._waiting[about] = frame
        if len(self._waiting) > MOST_FRAMES or (self._size > MOST_BYTES and len(self._waiting) > 1):
            self.finish(End.SLOW)
        elif self._waiting:
            self._something.set()

    def finish(self, reason: End) -> None:
        """Nothing more is put, and nothing more is sent: it can ask for the rest when it is back."""
        self.end = self.end or reason
        self._waiting.clear()
        self._something.set()

    async def take(self, patience: float) -> bytes:
        """What waits, as soon as something does; nothing, if nothing came in time or the end has come.

        The position comes last: whoever is cut off before it has read all that belongs to it asks for that again.
        """
        try:
            async with asyncio.timeout(patience):
                await self._something.wait()
        except TimeoutError:
            return b""
        taken = b"".join(self._waiting.values())
        self._waiting.clear()
        self._size = 0
        if not self.end:
            self._something.clear()
        return taken + f"id: {self.position}\n\n".encode() if taken and self.position is not None else taken
