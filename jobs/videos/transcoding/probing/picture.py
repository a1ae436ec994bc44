"""Which stream is the picture, and how it looks when it is shown."""

from fractions import Fraction

from av.container import InputContainer
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.stream import VideoStream as PictureStream

from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.probing.containers import SOUND, STILL
from jobs.videos.transcoding.probing.frame_rates import choose_rate
from jobs.videos.transcoding.probing.reading import Reading
from jobs.videos.transcoding.source import VideoStream

MAX_SIDE, MIN_SIDE = 16384, 16
MAX_AREA = 8192 * 8192
WIDEST_PIXEL = 8  # beyond it, an aspect is an error in the header
PQ, HLG = 16, 18  # the transfer functions of HDR
STILLS = Disposition.attached_pic | Disposition.timed_thumbnails | Disposition.still_image

COVER = "It has sound and a cover, but no moving picture."
NOTHING = "It has neither picture nor sound."
NO_DECODER = "Its picture cannot be decoded: its codec is not known here."
BAD_SIZE = (
    f"Its picture has {{width}} × {{height}} pixels; at least {MIN_SIDE} on each side are needed, "
    f"and at most {MAX_SIDE} on a side and {MAX_AREA // 1_000_000} million in all are accepted."
)


def choose_picture(container: InputContainer) -> PictureStream:
    """The default one, else the largest; covers and thumbnails are none."""
    moving = [stream for stream in container.streams.video if not stream.disposition & STILLS]
    if not moving:
        raise Refused(why=why_no_picture(container))
    known = [stream for stream in moving if stream.codec_context is not None]
    if not known:
        raise Refused(why=NO_DECODER)
    chosen = max(known, key=lambda stream: (bool(stream.disposition & Disposition.default), area(stream)))
    check_size(chosen.codec_context.width, chosen.codec_context.height)  # before memory is taken for it
    return chosen


def why_no_picture(container: InputContainer) -> str:
    if container.streams.audio:
        return COVER if container.streams.video else SOUND
    return STILL if container.streams.video else NOTHING


def area(stream: PictureStream) -> int:
    return stream.codec_context.width * stream.codec_context.height


def check_size(width: int, height: int) -> None:
    if min(width, height) < MIN_SIDE or max(width, height) > MAX_SIDE or width * height > MAX_AREA:
        raise Refused(why=BAD_SIZE.format(width=width, height=height))


def describe_picture(stream: PictureStream, reading: Reading, total_bitrate: float) -> VideoStream:
    frame, context = reading.frames[0], stream.codec_context
    aspect = pixel_aspect(stream.sample_aspect_ratio)
    width, height = shown_size(frame, aspect)
    check_size(width, height)
    rate, is_variable = choose_rate(
        reading.times, stream.time_base or Fraction(0), stream.average_rate, stream.base_rate
    )
    return VideoStream(
        index=stream.index,
        codec=context.name,
        width=width,
        height=height,
        frame_rate=rate,
        is_variable=is_variable,
        rotation=clockwise(frame),
        is_anamorphic=aspect != 1,
        bit_depth=max(component.bits for component in frame.format.components),
        is_hdr=bool({context.color_trc, frame.color_trc} & {PQ, HLG}),
        is_interlaced=any(each.interlaced_frame for each in reading.frames),
        bitrate=round(min(stream.bit_rate or total_bitrate, total_bitrate)),
    )


def pixel_aspect(said: Fraction | None) -> Fraction:
    return said if said and Fraction(1, WIDEST_PIXEL) <= said <= WIDEST_PIXEL else Fraction(1)


def shown_size(frame: VideoFrame, aspect: Fraction) -> tuple[int, int]:
    """With square pixels, and turned as its display matrix says."""
    width, height = round(frame.width * aspect), frame.height
    return (height, width) if clockwise(frame) % 180 == 90 else (width, height)


def clockwise(frame: VideoFrame) -> int:
    return -frame.rotation % 360
