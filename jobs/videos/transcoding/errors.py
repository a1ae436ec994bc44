"""What can go wrong with a source or an encoder, and whether another try can help."""

from jobs.exceptions import Fatal, JobyardError


class Refused(Fatal):
    """The source cannot be transcoded: {why}"""


class NotBelieved(Fatal):
    """What an earlier step tells of the video cannot be right: {why}"""


class EncoderFailed(JobyardError):
    """The encoder {encoder} cannot do it here: {why}"""


class OtherTools(JobyardError):
    """This worker cannot encode a part of the video: it has ffmpeg {here}, and the others are made with {wanted}."""


class InvalidOutput(JobyardError):
    """The output is not as it should be: {problems}"""


class DiskFull(JobyardError):
    """There is not enough room in {folder}: {free} free, {needed} needed. Make room, then retry the job."""


class NoFfmpeg(JobyardError):
    """There is no ffmpeg here. Install it, name one with JOBS_FFMPEG, or install the package imageio-ffmpeg."""
