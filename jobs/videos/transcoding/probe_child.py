"""Looks at one file that nobody has looked at before, in a process that can do little harm.

`python -m jobs.videos.transcoding.probe_child FILE` prints one JSON document: {"source": facts}, {"refused": sentence},
or {"errno": number} where the disk failed, not the file. With `--count-frames` it prints {"frames": number} of a chunk.
It needs neither Django nor a database.
"""

import argparse
import json
import os
import resource
import sys
from errno import EIO
from itertools import islice
from pathlib import Path
from typing import Any

import av
from av.error import FFmpegError

from jobs.handlers.confinement import lower
from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.probing.containers import check_complete, sniff
from jobs.videos.transcoding.probing.facts import examine
from jobs.videos.transcoding.probing.frames import frames_in
from jobs.videos.transcoding.source import Source

OPEN_SECONDS, READ_SECONDS = 10.0, 10.0
OPEN_FILES = 16  # the source, and what Python still imports
OPTIONS = {"protocol_whitelist": "file,pipe", "max_pixels": str(16384 * 16384), "max_streams": "100"}
CHUNK, CHUNKS = 1 << 20, 1000  # a gigabyte
UNREADABLE = "It looks like a video, but it cannot be read: {why}."
TOO_MUCH = "Looking at it takes more memory than the probe may have."


def main() -> None:
    given = parse_arguments()
    lower(resource.RLIMIT_CORE, 0)
    lower(resource.RLIMIT_NOFILE, OPEN_FILES)
    lower(resource.RLIMIT_CPU, given.cpu_seconds, then_killed=1)
    if sys.platform != "darwin":  # which knows this limit and refuses to set it
        lower(resource.RLIMIT_AS, given.memory)
    told = {"frames": frames_in(Path(given.file))} if given.count_frames else answer(given.file)
    json.dump(told, sys.stdout, allow_nan=False)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="probe_child", description=__doc__)
    parser.add_argument("file")
    parser.add_argument("--cpu-seconds", type=int, default=20)
    parser.add_argument("--memory", type=int, default=2 << 30, help="bytes of address space")
    parser.add_argument("--count-frames", action="store_true", help='of a chunk: {"frames": number}')
    return parser.parse_args()


def answer(path: str) -> dict[str, Any]:
    try:
        return {"source": look_at(path).as_json()}
    except Refused as refusal:
        return {"refused": refusal.about["why"]}
    except MemoryError:
        return {"refused": TOO_MUCH}
    except FFmpegError as error:  # libav reports all sorts of damage with the numbers of all sorts of system errors
        if error.errno == EIO and disk_fails(path):
            return {"errno": EIO}
        return {"refused": UNREADABLE.format(why=(error.strerror or "unknown error").lower())}
    except OSError as error:
        return {"errno": error.errno}


def disk_fails(path: str) -> bool:
    """Whether the bytes themselves cannot be read, as far as there is time to try."""
    try:
        with open(path, "rb") as file:
            chunks = iter(lambda: file.read(CHUNK), b"")
            for _ in islice(chunks, CHUNKS):
                pass
    except OSError:
        return True
    return False


def look_at(path: str) -> Source:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        demuxer = sniff(file)
        check_complete(demuxer, file, size)
    opened = av.open(
        f"file:{path}",
        format=demuxer,
        options=OPTIONS,
        metadata_errors="replace",
        timeout=(OPEN_SECONDS, READ_SECONDS),
    )
    with opened as container:
        return examine(container, demuxer, size)


if __name__ == "__main__":
    main()
