"""Which container a file is, by its first bytes, and whether it is all there.

We look for ourselves instead of asking libav, which tries each of its hundreds of demuxers, playlists and scripts that
open other files among them. What is not in the list here is refused before libav sees it; what is in it is opened
with that demuxer and no other. The list: what browsers, phones, cameras, editors, broadcasters and old archives write.
None of these demuxers opens a second file (mov could follow references, but does so only when told to).
"""

import struct
from codecs import getincrementaldecoder
from typing import BinaryIO

from jobs.videos.transcoding.errors import Refused

HEAD = 64 * 1024  # bytes to look at
PAGE = 1024
MATROSKA, SEGMENT = b"\x1a\x45\xdf\xa3", b"\x18\x53\x80\x67"
MP4_BOXES = {b"ftyp", b"styp", b"moov", b"moof", b"mdat", b"free", b"skip", b"wide", b"pnot", b"sidx"}
STILL_BRANDS = {b"heic", b"heix", b"mif1", b"avif", b"crx "}
MAGIC = {
    MATROSKA: "matroska",
    b"FLV\x01": "flv",
    b"OggS": "ogg",
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "asf",
    b"\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02\x01\x01": "mxf",
    b"\x00\x00\x01\xba": "mpeg",
}
DEMUXERS = frozenset({*MAGIC.values(), "mov", "avi", "mpegts"})  # nothing else is opened
TS_PACKETS = (188, 192, 204)  # plain, with a time code as cameras and Blu-rays have it, with error correction
TS_RUN = 5  # packets in a row that begin with TS_SYNC
TS_SYNC = 0x47

PLAYLIST = "It is a playlist or a script, not a video; what it refers to is not opened."
STILL = "It is a picture, not a video."
SOUND = "It has sound but no picture."
UNKNOWN = (
    "It is not a video, or in a container that is not accepted: "
    "MP4, MOV, MKV, WebM, TS, MPEG, AVI, FLV, WMV, OGV and MXF are."
)
CUT_OFF = "The file is incomplete: {missing} of it are missing at the end."
REFUSED = {
    b"#EXTM3U": PLAYLIST,
    b"#EXTINF": PLAYLIST,
    b"ffconcat": PLAYLIST,
    b"file ": PLAYLIST,
    b"<MPD": PLAYLIST,
    b"<?xml": PLAYLIST,
    b"<smil": PLAYLIST,
    b"<asx": PLAYLIST,
    b"v=0": PLAYLIST,  # a session description
    b"[playlist]": PLAYLIST,
    b"[Reference]": PLAYLIST,
    b"\xff\xd8\xff": STILL,
    b"\x89PNG": STILL,
    b"GIF8": STILL,
    b"BM": STILL,
    b"II*\0": STILL,
    b"MM\0*": STILL,
    b"ID3": SOUND,
    b"fLaC": SOUND,
    b"\xff\xfb": SOUND,  # MP3
}


def sniff(file: BinaryIO) -> str:
    """The name of the demuxer that is to open this file."""
    head = file.read(HEAD)
    if not head:
        raise Refused(why="The file is empty.")
    return demuxer_of(head)


def demuxer_of(head: bytes) -> str:
    demuxer = by_magic(head) or by_boxes(head) or by_riff(head) or by_packets(head)
    if demuxer is None:
        begin = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        raise Refused(why=next((why for magic, why in REFUSED.items() if begin.startswith(magic)), UNKNOWN))
    return demuxer


def by_magic(head: bytes) -> str | None:
    return next((demuxer for magic, demuxer in MAGIC.items() if head.startswith(magic)), None)


def by_boxes(head: bytes) -> str | None:
    if head[4:8] not in MP4_BOXES:
        return None
    if head[4:8] == b"ftyp" and head[8:12] in STILL_BRANDS:
        raise Refused(why=STILL)
    return "mov"


def by_riff(head: bytes) -> str | None:
    if head[:4] != b"RIFF":
        return None
    if why := {b"WAVE": SOUND, b"WEBP": STILL}.get(head[8:12]):
        raise Refused(why=why)
    return "avi" if head[8:12] == b"AVI " else None


def by_packets(head: bytes) -> str | None:
    """A transport stream has no header, and a recording may begin in the middle of a packet."""
    for size in TS_PACKETS:
        for start in range(size):
            if all(head[at : at + 1] == b"G" for at in range(start, start + TS_RUN * size, size)):
                return "mpegts"
    return None


def why_hopeless(head: bytes) -> str:
    """Why a file that begins so need not be kept at all; empty where only the probe can tell.

    Playlists, pictures, sound and texts: what people take by mistake. Of the rest somebody may want to see what it was.
    """
    try:
        demuxer_of(head)
    except Refused as refusal:
        why = str(refusal.about["why"])
        return why if why != UNKNOWN or is_text(head) else ""
    return ""


def is_text(head: bytes) -> bool:
    """A page of it, in UTF-8; what is shorter says little."""
    try:
        text = getincrementaldecoder("utf-8")().decode(head)  # the last character may be cut in two
    except UnicodeDecodeError:
        return False
    return len(head) >= PAGE and not any(char < " " and char not in "\t\n\f\r\x1b" for char in text)


def check_complete(demuxer: str, file: BinaryIO, size: int) -> None:
    """Refuse a file that ends before its own structure says so: what is missing would be missing in the video."""
    end = {"mov": end_of_mp4, "matroska": end_of_matroska}.get(demuxer, lambda file, size: size)(file, size)
    if end > size:
        raise Refused(why=CUT_OFF.format(missing=readable(end - size)))


def end_of_mp4(file: BinaryIO, size: int) -> int:
    """Where the last box ends that holds the table of contents or the media; of fragments the complete ones count."""
    position = 0
    while position + 16 <= size:
        file.seek(position)
        length, kind, long_length = struct.unpack(">I4sQ", file.read(16))
        length = {0: size - position, 1: long_length}.get(length, length)
        if length < 8 or kind == b"moof":
            break
        position += length
        if kind in (b"moov", b"mdat") and position > size:
            return position
    return size


def end_of_matroska(file: BinaryIO, size: int) -> int:
    """Where its segment ends; a recording that was broken off has one of unknown length, which is no promise."""
    file.seek(0)
    head = file.read(HEAD)
    length, start = read_size(head, len(MATROSKA))
    start += length or 0
    if head[start : start + len(SEGMENT)] != SEGMENT:
        return size
    length, start = read_size(head, start + len(SEGMENT))
    return size if length is None else start + length


def read_size(data: bytes, at: int) -> tuple[int | None, int]:
    """A number whose first set bit says how many bytes it has, and where it ends; all ones stand for "unknown"."""
    width = 9 - data[at].bit_length() if at < len(data) else 9
    if width > 8:
        return None, at
    mask = (1 << 7 * width) - 1
    number = int.from_bytes(data[at : at + width], "big") & mask
    return (None if number == mask else number), at + width


def readable(count: int) -> str:
    return f"{count / 1_000_000:.1f} MB" if count >= 100_000 else f"{count} bytes"
