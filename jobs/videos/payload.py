"""The payload of `transcode.hls`, checked before anything is done: whoever can enqueue a job can write one by hand."""

from dataclasses import dataclass, field
from typing import Any

from jobs.exceptions import Fatal
from jobs.videos.names import job_of_version, source_folder

CHUNK = "transcode.chunk"  # the kind of a part, which another worker may encode


class NotAnOrder(Fatal):
    """The payload cannot be transcoded: {why}. Add videos with `manage.py transcode`, the admin or the API."""


@dataclass(frozen=True)
class Carried:
    """The published version, and which of its qualities go into the new one as they are."""

    version: str
    qualities: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Payload:
    video: int
    source: str
    qualities: list[str] | None
    carry: Carried | None
    strict: bool
    split: bool | None = None  # whether several workers encode it; None: the setting says

    @classmethod
    def read(
        cls,
        video: Any,
        source: Any,
        qualities: Any = None,
        carry: Any = None,
        strict: Any = False,
        split: Any = None,
    ) -> "Payload":
        if isinstance(video, bool) or not isinstance(video, int) or video < 1:
            raise NotAnOrder(why=f"'video' is {video!r}, not the id of one")
        own = source_folder(video) + "/"
        if not isinstance(source, str) or not source.startswith(own) or ".." in source.split("/"):
            raise NotAnOrder(why=f"'source' is {source!r}, not a file in {own}")
        if not isinstance(strict, bool):
            raise NotAnOrder(why=f"'strict' is {strict!r}, not true or false")
        if split is not None and not isinstance(split, bool):
            raise NotAnOrder(why=f"'split' is {split!r}, not true or false")
        wanted = None if qualities is None else names("qualities", qualities)
        return cls(video, source, wanted, read_carried(carry), strict, split)


def read_carried(carry: Any) -> Carried | None:
    if carry is None:
        return None
    if not isinstance(carry, dict) or carry.keys() != {"version", "qualities"}:
        raise NotAnOrder(why=f"'carry' is {carry!r}, not a version and its qualities")
    if not isinstance(carry["version"], str) or not job_of_version(carry["version"]):
        raise NotAnOrder(why=f"'carry' names {carry['version']!r}, not a version")
    return Carried(carry["version"], names("carry", carry["qualities"]))


def names(what: str, value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) and name.isalnum() for name in value):
        raise NotAnOrder(why=f"{what!r} has {value!r}, not a list of qualities")
    return value
