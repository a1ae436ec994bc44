"""What libav makes of a rendition: its init segment and segments, read as one file."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import av
from av.container import InputContainer

from jobs.exceptions import JobyardError


class Unreadable(JobyardError):
    """libav cannot read it: {why}."""


@dataclass(frozen=True)
class Stream:
    codec: str
    profile: str
    width: int = 0
    height: int = 0
    pixels: str = ""


class Chain:
    """Files that are read as if they were one. It cannot seek: libav reads it once, from first to last."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = iter(paths)
        self._file: BinaryIO | None = None

    def read(self, length: int) -> bytes:
        while file := self._file or self._next():
            if data := file.read(length):
                return data
            self.close()
        return b""

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _next(self) -> BinaryIO | None:
        path = next(self._paths, None)
        self._file = path.open("rb") if path else None
        return self._file


def look_into(paths: Iterable[Path]) -> Stream:
    """The one stream that is in these files."""
    with _opened(paths) as container:
        context = _context_of(container)
        if isinstance(context, av.VideoCodecContext):
            return Stream(context.name, str(context.profile), context.width, context.height, context.pix_fmt or "")
        return Stream(context.name, str(context.profile))


def decode(paths: Iterable[Path]) -> int:
    """How many frames come out; raises Unreadable at the first that is damaged."""
    frames = 0
    with _opened(paths) as container:
        context = _context_of(container)
        context.thread_type = "AUTO"
        context.options = {"err_detect": "explode"}  # or damage is painted over
        for frame in container.decode(container.streams[0]):
            frames += 1
            if isinstance(frame, av.VideoFrame | av.AudioFrame) and frame.is_corrupt:
                raise Unreadable(why=f"its frame {frames} is damaged")
    return frames


@contextmanager
def _opened(paths: Iterable[Path]) -> Iterator[InputContainer]:
    chain = Chain(paths)
    try:
        with av.open(chain, "r", "mp4") as container:
            yield container
    except (av.FFmpegError, ValueError) as error:
        raise Unreadable(why=str(error)) from error
    finally:
        chain.close()


def _context_of(container: InputContainer) -> av.CodecContext:
    contexts: list[av.CodecContext | None] = [stream.codec_context for stream in container.streams]
    if len(contexts) != 1:
        raise Unreadable(why=f"it has {len(contexts)} streams instead of one")
    if contexts[0] is None:
        raise Unreadable(why="its codec is not known")
    return contexts[0]
