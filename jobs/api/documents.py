"""What several parts of the API say alike: the queue's own, and the live streams."""

from typing import Any

from jobs.selectors.depth import Depth, queue_depths


def depth_document() -> dict[str, Any]:
    """How deep the queues are, in total and each."""
    depths = queue_depths()
    queues = {
        name: {
            **counts(depth),
            "paused": name in depths.paused,
            "oldest_pending_seconds": depth.oldest_pending_seconds,
        }
        for name, depth in depths.queues.items()
    }
    return {**counts(depths.total), "queues": queues}


def counts(depth: Depth) -> dict[str, int]:
    return {
        "pending": depth.pending + depth.scheduled,
        "scheduled": depth.scheduled,
        "running": depth.running,
        "completed": depth.completed,
        "errors": depth.failed,
        "cancelled": depth.cancelled,
    }
