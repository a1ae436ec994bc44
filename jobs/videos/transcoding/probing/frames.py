"""How many frames a chunk has: counted, not believed."""

from pathlib import Path

import av

from jobs.videos.transcoding.mp4 import NotMp4, kinds_in


def frames_in(path: Path) -> int:
    """0 where it is no whole MP4: a full disk or a killed encoder leaves files that look finished."""
    try:
        if kinds_in(path)[:1] != ["ftyp"]:
            return 0
        with av.open(f"file:{path}", format="mp4") as container:
            return sum(1 for packet in container.demux(video=0) if packet.size)
    except (av.FFmpegError, NotMp4, OSError, IndexError):
        return 0
