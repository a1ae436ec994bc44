"""What a worker without the storage may do with a job's files: the kind's word, given on the server's side. No ORM."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.files.storage import Storage

from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef

Check = Callable[[Storage, str], None]


@dataclass(frozen=True)
class Reach:
    """Names are those in the storage. What is not named here does not exist for the worker."""

    reads: Mapping[str, str]  # with the SHA-256 of each, or "" where it is not known; the first one is *the* source
    folders: tuple[str, ...] = ()  # all files in them may be read, too
    writes: str = ""  # the folder it may hand over; nobody else's, so its name has the claim's first 8 digits
    suffixes: frozenset[str] = frozenset()  # what the names of its files end in, as in ".mp4"
    check: Check | None = None  # raises where the files are not as they should be; given the storage and the folder

    def checked(self, claim: ClaimRef) -> "Reach":
        if self.writes and claim.claim_id.hex[:8] not in self.writes:
            raise InvalidInput(
                f"The folder {self.writes!r} is not this attempt's alone: its name needs {claim.claim_id.hex[:8]}, the "
                "first eight digits of the claim's id."
            )
        return self

    def may_read(self, name: str) -> bool:
        if ".." in name.split("/"):
            return False
        return name in self.reads or any(name.startswith(f"{folder}/") for folder in self.folders)


ReachOf = Callable[[ClaimRef, Mapping[str, Any]], Reach]  # given the claim and the payload
