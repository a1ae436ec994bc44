"""What the doctor looks at for videos: ffmpeg, and the encoders that are to be used."""

from collections.abc import Iterator

from django.core.exceptions import ImproperlyConfigured

from jobs.conf import conf
from jobs.doctor.examination import Finding, Level, examination
from jobs.handlers.commands import Commands
from jobs.handlers.ffmpeg import encodes, ffmpeg_version, find_ffmpeg
from jobs.videos.transcoding.confined import confinement
from jobs.videos.transcoding.encoders import CPU, named_encoders


@examination("ffmpeg")
def ffmpeg() -> Iterator[Finding]:
    found = find_ffmpeg()
    if found is None:
        where = f"JOBS_FFMPEG is {conf.FFMPEG!r}, which cannot be run" if conf.FFMPEG else "There is no ffmpeg"
        fix = "Install ffmpeg, or the package imageio-ffmpeg (`pip install 'jobyard[videos]'`), or set JOBS_FFMPEG."
        yield Finding(f"{where}: no video can be transcoded on this machine.", fix)
    elif not ffmpeg_version(found):
        yield Finding(
            f"{found} does not say its version: it does not run here.", "Install another, or set JOBS_FFMPEG."
        )


@examination("confinement")
def confined() -> Iterator[Finding]:
    """Whether ffmpeg can be taken off the network: tried, for the reasons why not are many."""
    ask, run = ["readlink", "/proc/self/ns/net"], Commands(lambda: None).run
    if not conf.VIDEO_CONFINED:
        yield Finding(
            "JOBS_VIDEO_CONFINED is off: ffmpeg runs as the worker does.", "See docs/security.md.", Level.ADVICE
        )
    elif run(ask, check=False, confinement=confinement()).stdout == run(ask, check=False).stdout:
        text = "This machine allows no network namespaces: ffmpeg has the worker's network."
        yield Finding(text, "Keep workers that see files of strangers off the network: docs/security.md.", Level.ADVICE)


@examination("encoders")
def encoders() -> Iterator[Finding]:
    """Each that is to be tried encodes a second: that one is built in says nothing about the card."""
    found = find_ffmpeg()
    if found is None:
        return  # said above
    try:
        wanted = named_encoders(conf.VIDEO_ENCODERS) or [CPU]
    except ImproperlyConfigured as error:
        yield Finding(str(error), "See JOBS_VIDEO_ENCODERS.")
        return
    broken = [encoder.name for encoder in wanted if not encodes(found, encoder.name)]
    if broken:
        none = len(broken) == len(wanted)
        text = f"ffmpeg cannot encode with {', '.join(broken)} here" + (
            ": no video can be." if none else "; others can."
        )
        fix = "Take it out of JOBS_VIDEO_ENCODERS, or see its driver: " + f"`{found} -hide_banner -encoders`."
        yield Finding(text, fix, Level.WRONG if none else Level.ADVICE)
