"""Does a playlist parse, is it complete, and does it name only what may be named?"""

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import m3u8

from jobs.exceptions import JobyardError

VERSION = 7
PLAIN = re.compile(r"[\w.-]+(/[\w.-]+)*", re.ASCII)
LONGEST_SHOWN = 100


class Unparsable(JobyardError):
    """{label} is no playlist: {why}"""


def parse(path: Path, label: str) -> m3u8.M3U8:
    try:
        text = path.read_bytes().decode()
        if not text.startswith("#EXTM3U"):
            raise Unparsable(label=label, why="it does not begin with #EXTM3U." if text else "it is empty.")
        return m3u8.M3U8(text, strict=True)
    except FileNotFoundError:
        raise Unparsable(label=label, why="it is missing.") from None
    except Unparsable:
        raise
    except Exception as error:  # the parser has no class of its own for most of its errors
        raise Unparsable(label=label, why=f"{cut(error or type(error).__name__)}.") from error


def media_problems(playlist: m3u8.M3U8, label: str) -> Iterator[str]:
    if playlist.version != VERSION:
        yield f"{label} states EXT-X-VERSION {playlist.version} instead of {VERSION}."
    if not playlist.is_endlist:
        yield f"{label} has no EXT-X-ENDLIST: it was not finished."
    if (playlist.playlist_type or "").upper() != "VOD":
        yield f"{label} is not of the type VOD."
    if len(playlist.segment_map) != 1:
        yield f"{label} names {len(playlist.segment_map) or 'no'} init segments (EXT-X-MAP) instead of one."
    if not playlist.segments:
        yield f"{label} names no segments."
    for segment in playlist.segments:
        if segment.discontinuity:
            yield f"{label} has an EXT-X-DISCONTINUITY before {cut(segment.uri)}."


def target_problems(playlist: m3u8.M3U8, label: str) -> Iterator[str]:
    target = playlist.target_duration
    if target is None:
        yield f"{label} has no EXT-X-TARGETDURATION."
        return
    for segment in playlist.segments:
        if segment.duration is None or not 0 < segment.duration < target + 0.5:  # or Chromium refuses it
            yield f"{label}: {cut(segment.uri)} lasts {segment.duration} s, the target duration is {target} s."


def name_fault(name: str | None) -> str:
    """Why a playlist may not name this; empty if it may."""
    name = name or ""
    try:
        parts = urlsplit(name)
    except ValueError:  # half of an address of IPv6
        return "is a broken URL"
    if parts.scheme or parts.netloc:
        return "is a URL"
    if name.startswith("/"):
        return "is an absolute path"
    if ".." in PurePosixPath(unquote(name)).parts:
        return "leads out of the folder"
    return "" if PLAIN.fullmatch(name) else "is no plain name of a file"


def cut(value: object) -> str:
    """Short enough for a sentence, whatever a broken file holds."""
    text = str(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
