"""The master playlist: what it states of each quality is measured, not taken from what the encoder was told."""

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from jobs.handlers.files import write_whole
from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.manifest import AUDIO, INIT, MASTER, PLAYLIST, Manifest, Rendition
from jobs.videos.transcoding.media_playlist import MediaPlaylist, read_media, settle_target
from jobs.videos.transcoding.mp4 import NotMp4, avc_codec

GROUP = "audio"
AAC_LC = "mp4a.40.2"
HEAD = ["#EXTM3U", "#EXT-X-VERSION:7", "#EXT-X-INDEPENDENT-SEGMENTS"]
SOUND = (
    f'#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="{GROUP}",NAME="Audio",DEFAULT=YES,AUTOSELECT=YES,CHANNELS="2",'
    f'URI="{AUDIO}/{PLAYLIST}"'
)


@dataclass(frozen=True)
class RenditionFacts:
    """What is measured of a quality, for the record of its video."""

    bitrate: int  # bits per second on average, of picture and sound together
    codec: str
    size: int  # bytes of all files in its folder


@dataclass(frozen=True)
class Stated:
    """What the master playlist states of a quality."""

    rendition: Rendition
    bandwidth: int
    average_bandwidth: int
    codecs: str
    frame_rate: Fraction
    has_sound: bool

    def lines(self) -> list[str]:
        attributes = [
            f"BANDWIDTH={self.bandwidth}",
            f"AVERAGE-BANDWIDTH={self.average_bandwidth}",
            f'CODECS="{self.codecs}"',
            f"RESOLUTION={self.rendition.width}x{self.rendition.height}",
            f"FRAME-RATE={float(self.frame_rate):.3f}",
            *([f'AUDIO="{GROUP}"'] if self.has_sound else []),
        ]
        return ["#EXT-X-STREAM-INF:" + ",".join(attributes), f"{self.rendition.name}/{PLAYLIST}"]


def write_master(folder: Path) -> None:
    """Settle the target durations of the media playlists, then write master.m3u8 from what the files are.

    The qualities go from the lowest bandwidth to the highest. Players begin with the first one before they have
    measured anything: the lowest shows its picture soonest and stalls on no line, and they climb after a segment.
    """
    manifest = Manifest.read(folder)
    for name in manifest.folders:
        settle_target(folder / name)
    sound = _sound_of(folder, manifest)
    stated = [_stated(folder, rendition, manifest, sound) for rendition in manifest.renditions]
    stated.sort(key=lambda each: (each.bandwidth, each.rendition.height))
    lines = [*HEAD, *([SOUND] if sound else []), *(line for each in stated for line in each.lines())]
    write_whole(folder / MASTER, "\n".join(lines) + "\n")


def facts_of(folder: Path, rendition: Rendition) -> RenditionFacts:
    """What the job's result says of one quality."""
    place = folder / rendition.name
    sound = _sound_of(folder, Manifest.read(folder))
    bitrate = read_media(place).average + (sound.average if sound else 0)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
    return RenditionFacts(bitrate, codec_of(place), size)


def codec_of(place: Path) -> str:
    try:
        return avc_codec((place / INIT).read_bytes())
    except (OSError, NotMp4) as error:
        raise InvalidOutput(problems=f"{place.name}/{INIT} cannot be used. {error}") from error


def _stated(folder: Path, rendition: Rendition, manifest: Manifest, sound: MediaPlaylist | None) -> Stated:
    place = folder / rendition.name
    picture, codec = read_media(place), codec_of(place)
    return Stated(
        rendition=rendition,
        bandwidth=picture.peak + (sound.peak if sound else 0),
        average_bandwidth=picture.average + (sound.average if sound else 0),
        codecs=f"{codec},{AAC_LC}" if sound else codec,
        frame_rate=manifest.frame_rate,
        has_sound=sound is not None,
    )


def _sound_of(folder: Path, manifest: Manifest) -> MediaPlaylist | None:
    return read_media(folder / AUDIO) if manifest.audio_rate else None
