"""Videos that point elsewhere: subtitles inside that are a playlist, and a track that is kept in another file."""

import struct
from pathlib import Path

CONTAINERS = (b"moov", b"trak", b"mdia", b"minf", b"dinf")
RATE, SIDE = 25, 16


def write_svg(path: Path, *addresses: str) -> Path:
    images = "".join(f'<image xlink:href="{address}" width="9" height="9"/>' for address in addresses)
    path.write_text(f'<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg">{images}</svg>\n')
    return path


# AVI: a stream of texts whose first packet is a whole file of subtitles, which libav probes anew


def avi_with_subtitles(path: Path, picture: bytes, words: bytes) -> Path:
    """A second of one JPEG, and beside it what should be subtitles."""
    main = struct.pack("<14I", 1_000_000 // RATE, 0, 0, 0, RATE, 0, 2, 0, SIDE, SIDE, 0, 0, 0, 0)
    bitmap = struct.pack("<IiiHH4sIiiII", 40, SIDE, SIDE, 1, 24, b"MJPG", 0, 0, 0, 0, 0)
    headers = riff_list(b"hdrl", chunk(b"avih", main), stream(b"vids", b"MJPG", bitmap), stream(b"txts", bytes(4), b""))
    title = "words".encode("utf-16-le")
    gab2 = b"GAB2\0" + struct.pack("<HI", 2, len(title)) + title + struct.pack("<HI", 4, len(words)) + words
    packets = riff_list(b"movi", chunk(b"01tx", gab2), *[chunk(b"00dc", picture)] * RATE)
    path.write_bytes(chunk(b"RIFF", b"AVI " + headers + packets))
    return path


def stream(kind: bytes, codec: bytes, form: bytes) -> bytes:
    head = struct.pack("<4s4sIHHIIIIIIII4H", kind, codec, 0, 0, 0, 0, 1, RATE, 0, RATE, 0, 0, 0, 0, 0, SIDE, SIDE)
    return riff_list(b"strl", chunk(b"strh", head), chunk(b"strf", form))


def riff_list(kind: bytes, *chunks: bytes) -> bytes:
    return chunk(b"LIST", kind + b"".join(chunks))


def chunk(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)


# MOV: where the samples of a track are is a reference, which may be to another file


def mov_kept_elsewhere(path: Path, video: Path, elsewhere: Path) -> Path:
    """The video, all of whose tracks say that their samples are in another file."""
    path.write_bytes(referring(video.read_bytes(), reference_to(elsewhere)))
    return path


def referring(boxes: bytes, reference: bytes) -> bytes:
    """The same boxes, with these data references; what holds them grows."""
    made, at = b"", 0
    while at < len(boxes):
        size, kind = struct.unpack_from(">I4s", boxes, at)
        content = boxes[at + 8 : at + size]
        if kind in CONTAINERS:
            content = referring(content, reference)
        elif kind == b"dref":
            content = struct.pack(">II", 0, 1) + reference
        made += struct.pack(">I4s", 8 + len(content), kind) + content
        at += size
    return made


def reference_to(elsewhere: Path) -> bytes:
    """An alias, as QuickTime writes it: names of a volume and a file, and then its path."""
    name, place = elsewhere.name.encode(), str(elsewhere).encode()
    alias = bytes(10) + pascal(b"disk", 27) + bytes(12) + pascal(name, 63) + bytes(16)
    alias += struct.pack(">HH", 0, 0) + bytes(16)
    alias += struct.pack(">HH", 2, len(place)) + place + b"\0" * (len(place) % 2) + b"\xff\xff\0\0"
    return struct.pack(">I4sI", 12 + len(alias), b"alis", 0) + alias


def pascal(text: bytes, room: int) -> bytes:
    return bytes([min(len(text), room)]) + text[:room].ljust(room, b"\0")
