"""The errors of videos. A class's docstring is its message."""

from jobs.exceptions import JobyardError, NotFound


class VideoNotFound(NotFound):
    """There is no video {video}."""


class NotStored(JobyardError):
    """{file} could not be stored: {why}."""


class NotPublished(JobyardError):
    """The video {video} has no published version yet."""


class NotCollected(JobyardError):
    """Of video {video}, these could not be removed from the storage: {names}. The log says why."""
