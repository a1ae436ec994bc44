"""What this machine can do, told when a worker registers."""

from typing import Any

from jobs.handlers.ffmpeg import working_encoders
from jobs.machine import cpu_count, memory_bytes


def capabilities(gpu: str = "auto") -> dict[str, Any]:
    """`gpu` on or off is an operator's word; auto asks the machine."""
    encoders = working_encoders() if gpu != "off" else []
    return {
        "cpus": cpu_count(),
        "memory_mib": memory_bytes() // 2**20,
        "gpu": gpu == "on" or bool(encoders),
        "encoders": encoders,
    }
