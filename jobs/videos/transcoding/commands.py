"""The command lines of ffmpeg. No word of a source's name is ever an option, a protocol or a pattern."""

from fractions import Fraction
from pathlib import Path

from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.encoders import Encoder, gop_of
from jobs.videos.transcoding.ladder import Rung, even
from jobs.videos.transcoding.manifest import INIT, PLAYLIST
from jobs.videos.transcoding.source import Source, VideoStream

Command = list[str]
SEGMENTS = "segment_%05d.m4s"
SOUND_RATE = 48_000
THUMBNAIL_WIDTH = 640
# Pictures brighter than a screen shows are mapped into what it can show.
TO_SDR = (
    "zscale=transfer=linear:npl=100,format=gbrpf32le,zscale=primaries=bt709,tonemap=hable:desat=0,"
    "zscale=transfer=bt709:matrix=bt709:range=tv"
)


def program(ffmpeg: str) -> Command:
    """Asking nobody anything."""
    return [ffmpeg, "-nostdin", "-hide_banner", "-v", "warning", "-y"]


def input_of(path: Path, demuxer: str) -> Command:
    """Only this file, read as what the probe found it to be."""
    return ["-protocol_whitelist", "file,pipe", "-f", demuxer, "-i", f"file:{path}"]


def encode_chunk(
    ffmpeg: str, path: Path, source: Source, rung: Rung, encoder: Encoder, chunk: Chunk, target: Path
) -> Command:
    video, rate = source.video, source.video.frame_rate
    limit = [] if chunk.is_last else ["-frames:v", str(chunk.frames)]
    return [
        *program(ffmpeg), "-xerror", "-stats_period", "0.5", "-progress", "pipe:1", *encoder.device,
        *seek_to(chunk.first_frame, rate), *input_of(path, source.demuxer),
        "-map", f"0:{video.index}", "-an", "-sn", "-dn", "-map_metadata", "-1", "-map_chapters", "-1",
        "-filter:v", filters(video, rung, encoder), *encoder.arguments(rung, gop_of(rate)), *limit,
        "-video_track_timescale", str(timescale(rate)), "-f", "mp4", f"file:{target}",
    ]  # fmt: skip


def seek_to(frame: int, rate: Fraction) -> Command:
    """A quarter of a frame early: whichever way a timestamp was rounded, the wanted frame is the first.

    Not "accurate": then ffmpeg drops a picture that began before this point and still shows at it, and the filter fills
    the hole with the next one.
    """
    return seek_to_second(float((frame - Fraction(1, 4)) / rate)) if frame else []


def seek_to_second(second: float) -> Command:
    return ["-noaccurate_seek", "-ss", f"{second:.6f}"]


def filters(video: VideoStream, rung: Rung, encoder: Encoder) -> str:
    """Pictures of the rung's size, as every player shows them."""
    upload = [encoder.upload] if encoder.upload else []
    return ",".join([*plain_pictures(video, rung.width, rung.height), f"format={encoder.pixels}", *upload])


def plain_pictures(video: VideoStream, width: int, height: int) -> list[str]:
    """Whole ones, at a constant rate from the very start, with square points and colours that a screen has."""
    steps = ["bwdif=mode=send_frame:deint=interlaced"] if video.is_interlaced else []
    steps += [f"fps=fps={video.frame_rate}:start_time=0", f"scale={width}:{height}:flags=bicubic", "setsar=1"]
    return [*steps, TO_SDR] if video.is_hdr else steps


def timescale(rate: Fraction) -> int:
    """Ticks in which every frame has a whole number."""
    return rate.numerator if rate.numerator >= 1000 else rate.numerator * 1000


def encode_audio(ffmpeg: str, path: Path, source: Source, rate: int, segment_seconds: float) -> Command:
    """Into the current directory: a per cent sign in a folder's name would be taken for the pattern's."""
    assert source.audio is not None
    return [
        *program(ffmpeg), "-xerror", "-stats_period", "0.5", "-progress", "pipe:1",
        *input_of(path, source.demuxer), "-map", f"0:{source.audio.index}", "-vn", "-sn", "-dn",
        "-map_metadata", "-1", "-map_chapters", "-1", "-t", f"{source.duration:.6f}",
        # What begins late or has holes is filled with silence, so that it stays with its pictures.
        "-filter:a", "aresample=async=1:first_pts=0,apad", "-ac", "2", "-ar", str(SOUND_RATE),
        "-c:a", "aac", "-b:a", f"{rate}k", *hls(segment_seconds),
    ]  # fmt: skip


def join_chunks(ffmpeg: str, listing: Path, segment_seconds: float) -> Command:
    """Chunks into segments in the current directory, not a bit encoded anew."""
    return [
        *program(ffmpeg), "-xerror", "-f", "concat", "-safe", "0", "-protocol_whitelist", "file",
        "-format_whitelist", "concat,mov", "-i", f"file:{listing}", "-map", "0:v:0", "-c", "copy",
        *hls(segment_seconds),
    ]  # fmt: skip


def hls(segment_seconds: float) -> Command:
    """Segments without edit lists, which not all players obey: the timestamps themselves begin at zero."""
    return [
        # A hair less than the real length, or a rounded timestamp would put off a boundary by a whole group.
        "-f", "hls", "-hls_time", f"{segment_seconds - 0.0001:.6f}",
        "-hls_segment_type", "fmp4", "-hls_playlist_type", "vod", "-hls_flags", "independent_segments",
        "-hls_segment_options", "movflags=+negative_cts_offsets:use_editlist=0",
        "-hls_fmp4_init_filename", INIT, "-hls_segment_filename", SEGMENTS, PLAYLIST,
    ]  # fmt: skip


def take_thumbnail(ffmpeg: str, path: Path, source: Source, second: float, target: Path) -> Command:
    """The picture that shows at that moment."""
    video = source.video
    width = min(THUMBNAIL_WIDTH, even(video.width))
    pictures = [*plain_pictures(video, width, even(width * video.height / video.width)), "format=yuvj420p"]
    return [
        *program(ffmpeg), *seek_to_second(second), *input_of(path, source.demuxer),
        "-map", f"0:{video.index}", "-filter:v", ",".join(pictures),
        "-frames:v", "1", "-q:v", "3", "-f", "mjpeg", f"file:{target}",
    ]  # fmt: skip
