"""Compares versions as people mean them: 1.10 is newer than 1.9, and 1.2 is 1.2.0."""

import re

PARTS = re.compile(r"\d+")


def numbers(version: str) -> tuple[int, ...]:
    """What stands before a letter, a plus or a minus: `1.2.0rc1` counts as 1.2.0."""
    release = re.split(r"[^0-9.]", version, maxsplit=1)[0]
    found = [int(part[:9]) for part in PARTS.findall(release)[:5]]
    while found and found[-1] == 0:
        found.pop()
    return tuple(found)


def is_older(version: str, than: str) -> bool:
    return numbers(version) < numbers(than)
