"""Names in the storage: where a video's source is, and where its versions are."""

import re
import unicodedata
from pathlib import PurePosixPath
from uuid import UUID

SOURCES, VERSIONS, PARTS = "sources", "videos", "parts"
LONGEST_NAME, LONGEST_SUFFIX = 200, 20  # bytes: file systems take 255, and whoever copies may add to a name
NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)
VERSION = re.compile(r"([1-9][0-9]{0,18})-[0-9a-f]{8}", re.ASCII)


def source_folder(video_id: int) -> str:
    return f"{SOURCES}/{video_id}"


def source_name(video_id: int, file_name: str) -> str:
    return f"{source_folder(video_id)}/{safe_file_name(file_name)}"


def folder_of(video_id: int) -> str:
    """Where all versions of a video are."""
    return f"{VERSIONS}/{video_id}"


def version_folder(video_id: int, version: str) -> str:
    return f"{folder_of(video_id)}/{version}"


def parts_folder(video_id: int) -> str:
    """Where chunks are that several workers encode for one version."""
    return f"{folder_of(video_id)}/{PARTS}"


def part_folder(video_id: int, part: str) -> str:
    return f"{parts_folder(video_id)}/{part}"


def version_of(job_id: int, claim_id: UUID) -> str:
    """The version that an attempt makes: no other attempt has the same."""
    return f"{job_id}-{claim_id.hex[:8]}"


def job_of_version(name: str) -> int | None:
    """The job whose attempt made, or makes, this version; None if the name is not a version's."""
    match = VERSION.fullmatch(name)
    return int(match[1]) if match else None


def video_of_folder(name: str) -> int | None:
    """The video whose folder is called so; None if it is not one of ours."""
    return int(name) if NUMBER.fullmatch(name) else None


def safe_file_name(file_name: str) -> str:
    """The file's own name as people know it, but one that stays in its folder, is not hidden, and is not too long."""
    last = re.split(r"[/\\]", file_name)[-1]
    shown = "".join(char if char.isprintable() else "_" for char in unicodedata.normalize("NFC", last))
    path = PurePosixPath(shown.strip().lstrip(".") or "source")
    suffix = cut(path.suffix, LONGEST_SUFFIX)
    return cut(path.name[: len(path.name) - len(path.suffix)], LONGEST_NAME - len(suffix.encode())) + suffix


def cut(text: str, longest: int) -> str:
    """At most so many bytes, and no half character at the end."""
    return text.encode()[:longest].decode(errors="ignore")
