"""The encoders: the one seam behind which hardware lives. Each says its arguments, all make the same H.264."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from django.core.exceptions import ImproperlyConfigured

from jobs.conf import conf
from jobs.handlers.ffmpeg import VAAPI, working_encoders
from jobs.videos.transcoding.ladder import Rung


@dataclass(frozen=True)
class Encoder:
    """An H.264 encoder of ffmpeg."""

    name: str
    quality: Sequence[str]  # arguments; {crf} and {usual}, kb/s, are filled in
    closed: Sequence[str] = ()  # what makes every group of pictures stand alone, and all headers alike
    device: Sequence[str] = ()  # before the input
    upload: str = ""  # the filter that brings pictures to the card
    pixels: str = "yuv420p"

    @property
    def is_hardware(self) -> bool:
        return self.name != CPU.name

    def arguments(self, rung: Rung, gop: int) -> list[str]:
        """Each of them a value of its own: whatever is in one, it becomes no other."""
        rates = ["-maxrate", f"{rung.maxrate}k", "-bufsize", f"{2 * rung.maxrate}k", "-level:v", str(rung.level)]
        groups = ["-g", str(gop), "-keyint_min", str(gop), "-profile:v", "high"]
        quality = [each.format(crf=rung.crf, usual=rung.maxrate * 3 // 4) for each in self.quality]
        return ["-c:v", self.name, *quality, *self.closed, *rates, *groups]


CPU = Encoder(
    "libx264",
    quality=["-preset", "veryfast", "-crf", "{crf}"],
    closed=["-sc_threshold", "0", "-x264-params", "open_gop=0:stitchable=1"],
)
HARDWARE = (
    Encoder(
        "h264_nvenc",
        quality=["-preset", "p5", "-rc", "vbr", "-cq", "{crf}", "-b:v", "0"],
        closed=["-no-scenecut", "1", "-forced-idr", "1"],
    ),
    Encoder(
        "h264_qsv",
        # A target below the limit, or its own default may lie above.
        quality=["-global_quality", "{crf}", "-b:v", "{usual}k"],
        closed=["-idr_interval", "0"],
        pixels="nv12",
    ),
    Encoder(
        "h264_vaapi",
        quality=["-qp", "{crf}"],
        closed=["-idr_interval", "0"],
        device=VAAPI,
        upload="hwupload",
        pixels="nv12",
    ),
)
ENCODERS = (*HARDWARE, CPU)


def usable_encoders() -> list[Encoder]:
    """Those to try for a quality, in order: an operator's word, or the hardware that works and then the CPU."""
    if conf.VIDEO_ENCODERS:
        return named_encoders(conf.VIDEO_ENCODERS)
    proven = working_encoders()
    return [*(encoder for encoder in HARDWARE if encoder.name in proven), CPU]


def pinned_encoders() -> list[Encoder]:
    """Those for a video that several workers encode: the CPU, which all have, unless an operator names others."""
    return named_encoders(conf.VIDEO_ENCODERS) if conf.VIDEO_ENCODERS else [CPU]


def find_encoder(name: str) -> Encoder | None:
    return next((encoder for encoder in ENCODERS if encoder.name == name), None)


def named_encoders(names: str) -> list[Encoder]:
    known = {encoder.name: encoder for encoder in ENCODERS}
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    for name in wanted:
        if name not in known:
            raise ImproperlyConfigured(f"JOBS_VIDEO_ENCODERS names {name!r}; choose from {', '.join(known)}.")
    return [known[name] for name in wanted]


def gop_of(frame_rate: Fraction) -> int:
    """Frames between two key frames: two seconds, as near as whole frames come."""
    return max(1, round(2 * frame_rate))
