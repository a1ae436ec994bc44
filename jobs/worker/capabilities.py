"""What this machine can do, told when a worker registers."""

import os
from typing import Any

from jobs.handlers.ffmpeg import working_encoders
from jobs.worker.options import cpu_count


def capabilities(gpu: str = "auto") -> dict[str, Any]:
    """`gpu` on or off is an operator's word; auto asks the machine."""
    encoders = working_encoders() if gpu != "off" else []
    return {
        "cpus": cpu_count(),
        "memory_mib": memory_mib(),
        "gpu": gpu == "on" or bool(encoders),
        "encoders": encoders,
    }


def memory_mib() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
