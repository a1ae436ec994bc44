"""A chunk that another worker made, looked at before it is joined: ffmpeg guesses what a file is that it joins, and
would do what a script among them says. Its hash is that worker's own word.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

from jobs.handlers.context import Context
from jobs.videos.transcoding.chunks import Chunk, ChunkStore
from jobs.videos.transcoding.errors import Refused
from jobs.videos.transcoding.probe import LIMITS, Limits, count_frames

SLOWEST_DISK, SLOWEST_CORE = 2 * 2**20, 50 * 2**20  # bytes a second


def fetch_chunk(ctx: Context, folder: str, store: ChunkStore, chunk: Chunk) -> bool:
    """Whether it is among ours now. Whatever else lies in the folder is left, and so is what is not as it should be."""
    with TemporaryDirectory(dir=store.folder.parent) as place:
        fetched = ChunkStore(Path(place), store.mark, store.attempt)
        try:
            ctx.files.fetch_folder(folder, fetched.folder)
        except FileNotFoundError:
            return False
        frames, path = fetched.find(chunk), fetched.path_of(chunk)
        if frames is None or frames != counted(ctx, path) or not chunk.may_have(frames):
            ctx.logger.warning("chunk refused folder=%s chunk=%d", folder, chunk.number + 1)
            return False
        path.replace(store.part_of(chunk))
        store.keep(chunk, frames)
        return True


def counted(ctx: Context, path: Path) -> int:
    size = path.stat().st_size
    limits = Limits(LIMITS.seconds + size / SLOWEST_DISK, LIMITS.cpu_seconds + size // SLOWEST_CORE)
    try:
        return count_frames(path, ctx.run, limits)
    except Refused as refusal:
        ctx.logger.warning("chunk refused file=%s reason=%r", path.name, str(refusal))
        return 0
