"""What people ask for, checked once for Python, the command line, the admin and HTTP alike."""

from collections.abc import Collection, Iterable
from pathlib import PurePath
from typing import Any

from jobs.exceptions import InvalidInput
from jobs.lifecycle.new_job import check_text
from jobs.sanitise import printable
from jobs.videos.transcoding.ladder import NAMES

LONGEST_TITLE = 200
UNTITLED = "Untitled video"


def check_qualities(wanted: Any, also: Collection[str] = ()) -> list[str] | None:
    """The qualities, largest first; None means all. `also` are names that a video has beside those of the ladder."""
    if wanted is None:
        return None
    if isinstance(wanted, (str, bytes)) or not isinstance(wanted, Iterable):
        raise InvalidInput(f"The qualities must be a list such as ['720p', '360p'], not {wanted!r}.")
    names, known = list(wanted), [*NAMES, *(name for name in also if name not in NAMES)]
    if not names:
        raise InvalidInput("No quality is named; leave the qualities out for all that the source has the size for.")
    for name in names:
        if name not in known:
            shown = printable(name, 60) if isinstance(name, str) else repr(name)
            raise InvalidInput(f"There is no quality {shown!r}; choose from {', '.join(known)}.")
    return [name for name in known if name in names]


def check_title(title: Any) -> str:
    """One line; empty where none was given."""
    return " ".join(check_text("title", title, LONGEST_TITLE).split())


def title_of_file(file_name: str) -> str:
    """A title to begin with: the file's name without its ending, and with spaces where people could type none."""
    stem = PurePath(file_name).stem
    if " " not in stem:
        stem = stem.replace(".", " ")
    shown = "".join(char if char.isprintable() else " " for char in stem.replace("_", " "))
    return " ".join(shown.split())[:LONGEST_TITLE].strip(" -") or UNTITLED
