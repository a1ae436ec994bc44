"""The command lines of ffmpeg. No word of a source's name is ever an option, a protocol or a pattern."""

from fractions import Fraction
from pathlib import Path

from jobs.videos.transcoding.chunks import Chunk
from jobs.videos.transcoding.encoders import Encoder, gop_of
from jobs.videos.transcoding.ladder import Rung
from jobs.videos.transcoding.manifest import INIT, PLAYLIST
from jobs.videos.transcoding.source import Source, VideoStream

Command = list[str]
SEGMENTS = "segment_%05d.m4s"
SOUND_RATE = 48_000
# Pictures brighter than a screen shows are mapped into what it can show.
TO_SDR = (
    "zscale=transfer=linear:npl=100,format=gbrpf32le,zscale=primaries=bt709,tonemap=hable:desat=0,"
    "zscale=transfer=bt709:matrix=bt709:range=tv"
)


def program(ffmpeg: str) -> Command:
    """Behind everything else that the machine does, and asking nobody anything."""
    return ["nice", "-n", "10", ffmpeg, "-nostdin", "-hide_banner", "-v", "warning", "-y"]


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
    """A quarter of a frame early: whichever way a timestamp was rounded, the wanted frame is the first."""
    return ["-ss", f"{float((frame - Fraction(1, 4)) / rate):.6f}"] if frame else []


def filters(video: VideoStream, rung: Rung, encoder: Encoder) -> str:
    """Pictures at a constant rate from the very start, of the rung's size, as every player shows them."""
    steps = ["bwdif=mode=send_frame"] if video.is_interlaced else []
    steps += [f"fps=fps={video.frame_rate}:start_time=0", f"scale={rung.width}:{rung.height}:flags=bicubic", "setsar=1"]
    steps += [TO_SDR] if video.is_hdr else []
    steps += [f"format={encoder.pixels}"] + ([encoder.upload] if encoder.upload else [])
    return ",".join(steps)


def timescale(rate: Fraction) -> int:
    """Ticks in which every frame has a whole number."""
    return rate.numerator if rate.numerator >= 1000 else rate.numerator * 1000


def encode_audio(ffmpeg: str, path: Path, source: Source, rate: int, segment_seconds: float, folder: Path) -> Command:
    assert source.audio is not None
    return [
        *program(ffmpeg), "-xerror", "-stats_period", "0.5", "-progress", "pipe:1",
        *input_of(path, source.demuxer), "-map", f"0:{source.audio.index}", "-vn", "-sn", "-dn",
        "-map_metadata", "-1", "-map_chapters", "-1", "-t", f"{source.duration:.6f}",
        # What begins late or has holes is filled with silence, so that it stays with its pictures.
        "-filter:a", "aresample=async=1:first_pts=0,apad", "-ac", "2", "-ar", str(SOUND_RATE),
        "-c:a", "aac", "-b:a", f"{rate}k", *hls(segment_seconds, folder),
    ]  # fmt: skip


def join_chunks(ffmpeg: str, listing: Path, segment_seconds: float, folder: Path) -> Command:
    """Chunks into segments, not a bit encoded anew."""
    return [
        *program(ffmpeg), "-xerror", "-f", "concat", "-safe", "0", "-protocol_whitelist", "file",
        "-i", f"file:{listing}", "-map", "0:v:0", "-c", "copy", *hls(segment_seconds, folder),
    ]  # fmt: skip


def hls(segment_seconds: float, folder: Path) -> Command:
    """Segments without edit lists, which not all players obey: the timestamps themselves begin at zero."""
    return [
        # A hair less than the real length, or a rounded timestamp would put off a boundary by a whole group.
        "-f", "hls", "-hls_time", f"{segment_seconds - 0.0001:.6f}",
        "-hls_segment_type", "fmp4", "-hls_playlist_type", "vod", "-hls_flags", "independent_segments",
        "-hls_segment_options", "movflags=+negative_cts_offsets:use_editlist=0",
        "-hls_fmp4_init_filename", INIT, "-hls_segment_filename", f"file:{literal(folder)}/{SEGMENTS}",
        f"file:{folder / PLAYLIST}",
    ]  # fmt: skip


def literal(folder: Path) -> str:
    """A per cent sign in a folder's name is none of the pattern's."""
    return str(folder).replace("%", "%%")


def take_thumbnail(ffmpeg: str, path: Path, source: Source, target: Path) -> Command:
    seconds = min(5.0, source.duration / 4)
    video = source.video
    size = f"scale='min(640,{video.width})':-2,setsar=1"
    tone = f",{TO_SDR}" if video.is_hdr else ""
    return [
        *program(ffmpeg), "-ss", f"{seconds:.6f}", *input_of(path, source.demuxer), "-map", f"0:{video.index}",
        "-filter:v", f"{size}{tone},format=yuvj420p", "-frames:v", "1", "-q:v", "3", "-f", "mjpeg", f"file:{target}",
    ]  # fmt: skip
