"""The states of a video. They are never stored: the job's status and the published version say them."""

from enum import StrEnum


class VideoStatus(StrEnum):
    PENDING = "pending"  # its job waits
    PROCESSING = "processing"  # a worker has it, or several have parts of it
    READY = "ready"  # a version is published; a new one may be on its way
    FAILED = "failed"  # its job ended, and no version is published
