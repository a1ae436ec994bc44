"""Sources that the probe must refuse: no videos, videos cut off, playlists in disguise, headers that lie."""

import struct
from pathlib import Path
from random import Random

from tests.videos.sources import (
    AAC,
    COPY,
    TONE,
    X264,
    container,
    ffmpeg,
    landscape,
    lavfi,
    photo,
    recorded_live,
    silent,
    source,
)

# No videos


@source("empty.mp4")
def empty(path: Path, folder: Path) -> None:
    path.touch()


@source("noise.mp4")
def noise(path: Path, folder: Path) -> None:
    path.write_bytes(Random(1).randbytes(100_000))


@source("text.mp4")
def text(path: Path, folder: Path) -> None:
    path.write_text("It was a dark and stormy night; the rain fell in torrents.\n" * 100)


@source("photo.mp4")
def photo_in_disguise(path: Path, folder: Path) -> None:
    path.write_bytes(photo(folder).read_bytes())


@source("song.m4a")
def song(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi(TONE), *AAC, path)


@source("album.m4a")
def album(path: Path, folder: Path) -> None:
    """A song with its cover."""
    ffmpeg(
        "-i", song(folder), "-i", photo(folder), "-map", "0", "-map", "1", *COPY, "-disposition:v", "attached_pic", path
    )


@source("subtitles.mkv")
def subtitles(path: Path, folder: Path) -> None:
    words = folder / "words.srt"
    words.write_text("1\n00:00:00,000 --> 00:00:01,000\nHello\n")
    ffmpeg("-i", words, *COPY, path)


@source("no-streams.mp4")
def no_streams(path: Path, folder: Path) -> None:
    """A header, and a table of contents with nothing in it."""
    path.write_bytes(box(b"ftyp", b"isom\0\0\2\0isom") + box(b"moov", box(b"mvhd", bytes(100))))


def box(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + kind + content


# Cut off


def first_half(path: Path) -> bytes:
    whole = path.read_bytes()
    return whole[: len(whole) // 2]


@source("cut.mp4")
def cut(path: Path, folder: Path) -> None:
    """The table of contents was at the end, which is missing."""
    path.write_bytes(first_half(landscape(folder)))


@source("cut-faststart.mp4")
def cut_faststart(path: Path, folder: Path) -> None:
    """The table of contents is at the start, and promises more than there is."""
    whole = path.with_name("faststart.mp4")
    ffmpeg("-i", landscape(folder), *COPY, "-movflags", "faststart", whole)
    path.write_bytes(first_half(whole))


@source("cut.mkv")
def cut_matroska(path: Path, folder: Path) -> None:
    path.write_bytes(first_half(container("mkv", folder)))


def write_cut(path: Path, video: Path) -> None:
    """The first half of a video of 40 s: longer than what is sampled of it."""
    whole = path.with_name(f"forty{path.suffix}")
    ffmpeg("-stream_loop", "19", "-i", video, "-an", *COPY, whole)
    path.write_bytes(first_half(whole))


@source("cut.flv")
def cut_flash(path: Path, folder: Path) -> None:
    """It never had a table of contents; its header says how long it was."""
    write_cut(path, silent(folder))


@source("cut.mxf")
def cut_mxf(path: Path, folder: Path) -> None:
    """Its table of contents leads to where nothing is."""
    write_cut(path, container("mxf", folder))


@source("header-only.mp4")
def header_only(path: Path, folder: Path) -> None:
    path.write_bytes(landscape(folder).read_bytes()[:20])


@source("hole.mp4")
def hole(path: Path, folder: Path) -> None:
    """The second half of its picture is zeros: the probe may accept it, an encoder must not."""
    whole = bytearray(landscape(folder).read_bytes())
    start, end = len(whole) // 2, whole.rindex(b"moov") - 4
    whole[start:end] = bytes(end - start)
    path.write_bytes(whole)


# Playlists and scripts in disguise: what they name must not be opened

PLAYLIST = """#EXTM3U
#EXT-X-VERSION:3
#EXT-X-TARGETDURATION:2
{entries}#EXT-X-ENDLIST
"""


def write_playlist(path: Path, *addresses: str) -> Path:
    path.write_text(PLAYLIST.format(entries="".join(f"#EXTINF:2,\n{address}\n" for address in addresses)))
    return path


def write_concat_script(path: Path, *addresses: str) -> Path:
    path.write_text("ffconcat version 1.0\n" + "".join(f"file '{address}'\n" for address in addresses))
    return path


def write_dash_manifest(path: Path, *addresses: str) -> Path:
    urls = "".join(f"<BaseURL>{address}</BaseURL>" for address in addresses)
    path.write_text(
        '<?xml version="1.0"?>\n'
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT2S">'
        f'<Period><AdaptationSet><Representation id="1" bandwidth="1000">{urls}</Representation>'
        "</AdaptationSet></Period></MPD>\n"
    )
    return path


def write_session_description(path: Path, *addresses: str) -> Path:
    path.write_text("v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video 5004 RTP/AVP 96\n")
    return path


# Headers that lie


def patched(whole: bytes, marker: bytes, offset: int, content: bytes) -> bytes:
    """The file with something else at a distance from the end of a marker in it."""
    start = whole.index(marker) + len(marker) + offset
    return whole[:start] + content + whole[start + len(content) :]


DURATION = b"\x44\x89\x88"  # of Matroska: a float of eight bytes follows
DEFAULT_DURATION, UNKNOWN_ELEMENT = b"\x23\xe3\x83", b"\x23\xe3\x7f"
CLUSTER = b"\x1f\x43\xb6\x75"


@source("promises-an-hour.mkv")
def promises_an_hour(path: Path, folder: Path) -> None:
    """Nothing is cut off, and yet there are two seconds only."""
    path.write_bytes(patched(container("mkv", folder).read_bytes(), DURATION, 0, struct.pack(">d", 3_600_000)))


@source("not-a-number.mkv")
def not_a_number(path: Path, folder: Path) -> None:
    """It says that it lasts NaN; its pictures say two seconds."""
    path.write_bytes(patched(container("mkv", folder).read_bytes(), DURATION, 0, struct.pack(">d", float("nan"))))


@source("instant.mkv")
def instant(path: Path, folder: Path) -> None:
    """One picture, shown for no time."""
    ffmpeg("-i", photo(folder), "-c:v", "mjpeg", "-f", "matroska", "-live", "1", path)
    path.write_bytes(path.read_bytes().replace(DEFAULT_DURATION, UNKNOWN_ELEMENT))


@source("broad.mkv")
def broad(path: Path, folder: Path) -> None:
    """Broader than anything that is accepted."""
    ffmpeg(*lavfi("color=size=16640x16:rate=5:duration=1"), "-c:v", "mjpeg", path)


@source("broad.webm")
def broad_by_header(path: Path, folder: Path) -> None:
    """Its header alone says that it is as large as a header can say."""
    whole = container("webm", folder).read_bytes()
    whole = patched(whole, b"\xb0\x82", 0, b"\xff\xff")
    path.write_bytes(patched(whole, b"\xba\x81", 0, b"\xff"))


@source("vast.mkv")
def vast(path: Path, folder: Path) -> None:
    """As large as is accepted, nearly: a hundred megabytes a picture."""
    ffmpeg(*lavfi("color=size=8000x8000:rate=5:duration=0.2"), "-c:v", "mjpeg", path)


@source("specks.mp4")
def specks(path: Path, folder: Path) -> None:
    ffmpeg(*lavfi("testsrc2=size=8x8:rate=30:duration=1"), *X264, path)


@source("endless.mkv")
def endless(path: Path, folder: Path) -> None:
    """Two seconds, then millions of pictures of a byte each, and nothing that says when the last one is shown."""
    blocks = b"\xe7\x81\0" + b"\xa3\x85\x81\0\0\0\0" * 1000
    cluster = CLUSTER + struct.pack(">Q", len(blocks) | 1 << 56) + blocks
    path.write_bytes(recorded_live(folder).read_bytes() + cluster * 3000)
