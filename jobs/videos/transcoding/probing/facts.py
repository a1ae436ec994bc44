"""The facts about an opened file, or why it is refused."""

from collections.abc import Sequence
from fractions import Fraction

from av.audio.stream import AudioStream as SoundStream
from av.container import InputContainer
from av.stream import Disposition

from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.probing.picture import choose_picture, describe_picture
from jobs.videos.transcoding.probing.reading import Reading
from jobs.videos.transcoding.source import AudioStream, Source

MAX_DURATION = 48 * 3600
MISSING, MISSING_PART = Fraction(1), Fraction(1, 100)  # seconds, and part of the whole, that a file may be too short
MICROSECOND = Fraction(1, 1_000_000)

UNDECODABLE = "Not one picture of it can be decoded: it is damaged or encrypted."
NO_DURATION = "Nothing in it says how long it is, and finding out took too long."
BAD_DURATION = "Its pictures last {seconds:.6g} s; more than nothing is needed, and at most {hours} hours."
TOO_SHORT = "The file is incomplete: it says that it lasts {promised:.1f} s, but it ends after {found:.1f} s."


def examine(container: InputContainer, demuxer: str, size: int) -> Source:
    picture = choose_picture(container)
    reading = Reading(container, picture)
    if not reading.frames or not reading.times:
        raise Refused(why=UNDECODABLE)
    refuse_if_short(container, reading)
    duration = checked(find_duration(container, reading, picture.duration, picture.time_base))
    video = describe_picture(picture, reading, 8 * size / duration)
    return Source(demuxer, duration, size, video, choose_sound(container.streams.audio))


def refuse_if_short(container: InputContainer, reading: Reading) -> None:
    """A file whose end is missing would become a video whose end is missing."""
    end = reading.end_of_all
    if end is None or container.duration is None:
        return
    promised, found = container.duration * MICROSECOND, end - start_of(container)
    if promised - found > max(MISSING, MISSING_PART * promised):
        raise Refused(why=TOO_SHORT.format(promised=float(promised), found=float(max(found, Fraction(0)))))


def find_duration(
    container: InputContainer, reading: Reading, said_by_stream: int | None, tick: Fraction | None
) -> Fraction:
    """Until the last picture ends, from the start of the file; found if possible, else as the file says it."""
    if reading.end is not None:
        return reading.end - start_of(container)
    if said_by_stream and tick:
        return reading.times[0] + said_by_stream * tick - start_of(container)
    if container.duration:
        return container.duration * MICROSECOND
    raise Refused(why=NO_DURATION)


def start_of(container: InputContainer) -> Fraction:
    return (container.start_time or 0) * MICROSECOND


def checked(duration: Fraction) -> float:
    if not 0 < duration <= MAX_DURATION:
        raise Refused(why=BAD_DURATION.format(seconds=float(duration), hours=MAX_DURATION // 3600))
    return round(float(duration), 6)


def choose_sound(streams: Sequence[SoundStream]) -> AudioStream | None:
    """The default one, else the first; what cannot be decoded is no sound."""
    known = [stream for stream in streams if stream.codec_context is not None]
    usable = [stream for stream in known if stream.codec_context.channels > 0 and stream.codec_context.sample_rate > 0]
    chosen = max(usable, key=lambda stream: bool(stream.disposition & Disposition.default), default=None)
    if chosen is None:
        return None
    context = chosen.codec_context
    return AudioStream(chosen.index, context.name, context.channels, context.sample_rate)
