"""Which names an uploaded file may have: plain ones that stay below their folder, with an ending the kind knows."""

import re
from collections.abc import Collection
from posixpath import splitext

from jobs.sanitise import printable
from jobs.uploads.errors import NameRefused

# No dot and no dash first: nothing is hidden, goes up, or is taken for an option. No slash, and no letter that looks
# like another or is stored otherwise than it was sent.
PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")
LONGEST, DEEPEST = 300, 8
SHOWN = 200


def checked_path(path: str, suffixes: Collection[str]) -> str:
    """The path as it was given; raises NameRefused if it may lead elsewhere, or is no file of this kind's."""
    if why := problem_with(path, suffixes):
        raise NameRefused(path=repr(printable(path, SHOWN)), why=why)
    return path


def problem_with(path: str, suffixes: Collection[str]) -> str:
    parts = path.split("/")
    if len(path) > LONGEST or len(parts) > DEEPEST:
        return f"it is longer than {LONGEST} characters, or more than {DEEPEST} folders deep"
    if not all(map(PART.fullmatch, parts)):
        return "each part is of letters, digits, '_', '.' and '-', and begins with none of the last two"
    if splitext(path)[1].lower() not in suffixes:
        return f"this kind has files that end in {', '.join(sorted(suffixes)) or 'nothing'}"
    return ""
