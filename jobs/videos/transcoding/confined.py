"""The least that ffmpeg, the probe and the check need: other people's files go through them."""

import os
import sys

from jobs.conf import conf
from jobs.handlers.confinement import Confinement

# What finds programs, libraries and graphics cards, and says in which language. No password, key or address of ours.
NAMES = {"PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"}
PREFIXES = ("LC_", "LD_", "PYTHON", "CUDA_", "NVIDIA_", "LIBVA_", "VDPAU_", "MFX_", "ONEVPL_", "MESA_", "DRI_")


def environment() -> dict[str, str]:
    """What it is told of ours."""
    return {name: value for name, value in os.environ.items() if name in NAMES or name.startswith(PREFIXES)}


def environment_of_python() -> dict[str, str]:
    """The same, for a program of our own: it finds what we find."""
    return environment() | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def confinement(cpu_seconds: int = 0, file_size: int = 0) -> Confinement | None:
    """What it may take and do at most; None where an operator wants it so."""
    return Confinement(conf.VIDEO_MEMORY, cpu_seconds, file_size) if conf.VIDEO_CONFINED else None
