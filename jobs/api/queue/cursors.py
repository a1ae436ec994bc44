"""Where a list of jobs goes on: a word that means something to us alone, so that we may change what it says."""

import base64
import re

from jobs.exceptions import InvalidInput

BEFORE = re.compile(rb"before:([1-9][0-9]{0,18})")


def cursor_of(job_id: int) -> str:
    """The page that begins before this job."""
    return base64.urlsafe_b64encode(b"before:%d" % job_id).decode().rstrip("=")


def job_before(cursor: str) -> int:
    try:
        said = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except ValueError:
        said = b""
    match = BEFORE.fullmatch(said)
    if match is None:
        raise InvalidInput("This cursor is none of ours; take the one that the list answered as `next`.")
    return int(match[1])
