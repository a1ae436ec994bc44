"""What the packets of a file say: when its first pictures come, how they look, and when the last one ends."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EIO
from fractions import Fraction
from time import monotonic

from av.container import InputContainer
from av.error import ExitError, FFmpegError
from av.packet import Packet
from av.stream import Stream
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

SAMPLE = 300  # packets of the picture whose times are looked at
FRAMES = 5  # pictures that are decoded: the first may be an exception
SECONDS = 10.0  # to find the end; a file that takes longer must say it itself
FAR = 10_000_000  # seconds: later than anything ends


class TooSlow(Exception):
    """The end was not reached in time."""


@contextmanager
def up_to_damage() -> Iterator[None]:
    """Damage ends what is tried in here; a read that takes too long, or a disk that fails, ends all."""
    try:
        yield
    except ExitError as error:
        raise TooSlow from error
    except FFmpegError as error:
        if error.errno == EIO:
            raise


class Reading:
    """One pass over the start of a file and over its end."""

    def __init__(self, container: InputContainer, picture: VideoStream) -> None:
        self._container, self._picture = container, picture
        self._deadline = monotonic() + SECONDS
        self._times: set[int] = set()  # ticks of the picture's clock; fractions would take their time
        self._ends: dict[int, int] = {}  # by stream, in ticks of its clock
        self.frames: list[VideoFrame] = []
        self.reached_end = False
        picture.codec_context.thread_count = 1
        self._read()

    @property
    def times(self) -> list[Fraction]:
        """Of the first pictures, in seconds, in the order in which they are shown."""
        return [ticks * tick_of(self._picture) for ticks in sorted(self._times)]

    @property
    def end(self) -> Fraction | None:
        """When the last picture has been shown, if it was reached."""
        end = self._ends.get(self._picture.index)
        return end * tick_of(self._picture) if self.reached_end and end is not None else None

    @property
    def end_of_all(self) -> Fraction | None:
        """When the last of all streams ends, if it was reached."""
        ends = [ticks * tick_of(self._container.streams[index]) for index, ticks in self._ends.items()]
        return max(ends, default=None) if self.reached_end else None

    def _read(self) -> None:
        with suppress(TooSlow):
            packets = self._packets()
            self.reached_end = self._read_start(packets) or self._read_end(packets) or self._read_all()

    def _packets(self) -> "Iterator[Packet[Stream]]":
        """Up to the end, or to damage: whoever transcodes it gets no farther either."""
        with suppress(IndexError), up_to_damage():  # PyAV stumbles, at the end, over streams that appeared on the way
            yield from self._container.demux()

    def _seek(self, ticks: int, stream: VideoStream | None = None) -> bool:
        with up_to_damage():
            self._container.seek(ticks, stream=stream)
            return True
        return False

    def _read_start(self, packets: "Iterator[Packet[Stream]]") -> bool:
        """True when the file ended before the sample was complete."""
        sampled = 0
        for packet in packets:
            ticks = self._note(packet)
            if packet.stream.index != self._picture.index:
                continue
            if ticks is not None:
                self._times.add(ticks)
            if len(self.frames) < FRAMES:
                self._decode(packet)
            sampled += 1
            if sampled == SAMPLE:
                return False
        return True

    def _read_end(self, packets: "Iterator[Packet[Stream]]") -> bool:
        """`packets` is begun and not ended, so that the time it gives to a read limits the seek, too."""
        self._seek(int(FAR / tick_of(self._picture)), self._picture)
        return self._read_on(packets)

    def _read_all(self) -> bool:
        return self._seek(self._container.start_time or 0) and self._read_on(self._packets())

    def _read_on(self, packets: "Iterator[Packet[Stream]]") -> bool:
        """To the end of the file; True when there was a picture on the way."""
        pictures = 0
        for packet in packets:
            noted = self._note(packet)
            pictures += noted is not None and packet.stream.index == self._picture.index
        return pictures > 0

    def _note(self, packet: "Packet[Stream]") -> int | None:
        """When the packet's content is shown, if it is."""
        if monotonic() > self._deadline:
            raise TooSlow
        shown = packet.dts if packet.pts is None else packet.pts
        if shown is None or packet.is_discard:
            return None
        index, end = packet.stream.index, shown + max(0, packet.duration or 0)
        self._ends[index] = max(end, self._ends.get(index, end))
        return shown

    def _decode(self, packet: "Packet[Stream]") -> None:
        try:
            self.frames += [frame for frame in packet.decode() if isinstance(frame, VideoFrame)]
        except MemoryError:
            raise
        except FFmpegError:
            return  # a damaged picture; the next one may be whole


def tick_of(stream: Stream) -> Fraction:
    return stream.time_base or Fraction(1)
