"""The kind that ends a batch for which nothing else was asked: it does nothing, and its end is the batch's."""

from typing import Any

KIND = "jobs.batch"


def end_batch(ctx: Any) -> None:
    """All that there was to do is done."""
