"""Why files of a worker are not taken. A class's docstring is its message."""

from jobs.exceptions import InvalidInput, JobyardError


class NameRefused(InvalidInput):
    """The file name {path} is refused: {why}."""


class ArchiveRefused(InvalidInput):
    """The archive is refused: {why}. What came before is kept; send the rest as it should be."""


class WrongContent(InvalidInput):
    """{path} did not arrive as announced: {why}. Nothing was kept of it; send it again."""


class TooLarge(JobyardError):
    """{path} is larger than this site takes: {limit} allows {most}."""


class TooSlow(JobyardError):
    """The upload took longer than {seconds:g} s (JOBS_UPLOAD_MAX_TIME). What arrived whole is kept; send the rest."""


class StorageFull(JobyardError):
    """There is no room left for {path} where the server keeps files. Make room there; the job is tried again."""


class NotArrived(JobyardError):
    """{number} files of the manifest are not here, or not as it says, {path} for one: send them, then finalize."""

    @property
    def missing(self) -> list[str]:
        return list(self.about["missing"])  # type: ignore[call-overload]  # paths


class BeingChecked(JobyardError):
    """The files of this attempt are being looked at; until that is over nothing changes. Call again in a moment."""


class AlreadyFinal(JobyardError):
    """The files of this attempt are finalized already; they cannot be changed any more."""
