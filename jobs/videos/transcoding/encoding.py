"""All qualities of a video: several at once, largest first, and one that fails takes no other with it.

The sound is for all of them: without it none is made.
"""

import shutil
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.conf import conf
from jobs.exceptions import ClaimError, StopRequested
from jobs.handlers.commands import Argument, CommandResult, OnLook, Run
from jobs.machine import cpu_count, memory_bytes
from jobs.videos.transcoding import commands
from jobs.videos.transcoding.encoders import Encoder, usable_encoders
from jobs.videos.transcoding.errors import DiskFull, EncoderFailed, Refused
from jobs.videos.transcoding.ffmpeg import run_ffmpeg
from jobs.videos.transcoding.ladder import Ladder, Rung
from jobs.videos.transcoding.manifest import AUDIO, Rendition
from jobs.videos.transcoding.progress import Gauge
from jobs.videos.transcoding.rendition import LEAST_SECONDS, Encoding, Listener, Logger
from jobs.videos.transcoding.task import Task

CORES_EACH = 2  # an encoder keeps about two cores busy; more of them at once only share caches worse
MEMORY_EACH = 1536 * 2**20  # bytes, of the largest quality
# What no other quality would escape either.
STOPS_ALL = (StopRequested, ClaimError, DiskFull, Refused)


@dataclass
class Encoded:
    frames: int = 0
    renditions: list[Rendition] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)


def encode_all(
    task: Task, ladder: Ladder, logger: Logger, listener: Listener, encoders: Sequence[Encoder] = ()
) -> Encoded:
    """Encode the sound and every rung; raises what stops them all."""
    task.version.mkdir(parents=True, exist_ok=True)
    encoders = encoders or usable_encoders()
    encoded, abort = Encoded(), threading.Event()
    task = replace(task, run=until(abort, task.run))

    def one(rung: Rung) -> None:
        try:
            encoding = encode_with_fallback(task, rung, encoders, logger, listener)
        except STOPS_ALL:
            raise
        except Exception as error:
            logger.warning("quality failed quality=%s reason=%r", rung.name, str(error))
            encoded.failed[rung.name] = error
            shutil.rmtree(task.version / rung.name, ignore_errors=True)
            listener.failed(rung, error)
        else:
            rendition, encoded.frames = encoding
            encoded.renditions.append(rendition)
            listener.completed(rung, rendition)

    work: list[Callable[[], None]] = [lambda rung=rung: one(rung) for rung in ladder.rungs]  # type: ignore[misc]
    if ladder.audio_rate:
        work.append(lambda: encode_audio(task, ladder.audio_rate))
    run_all(work, parallel(ladder.rungs), abort)
    encoded.renditions.sort(key=lambda rendition: -rendition.height * rendition.width)
    return encoded


def run_all(work: Sequence[Callable[[], None]], at_once: int, abort: threading.Event) -> None:
    """Raises what the first of them raises; the others are stopped then, and none is begun."""
    with ThreadPoolExecutor(at_once, thread_name_prefix="quality") as pool:
        futures: Collection[Future[None]] = [pool.submit(each) for each in work]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:  # also when this thread itself is interrupted
            abort.set()
            for future in futures:
                future.cancel()
    for future in sorted(done, key=lambda future: future.exception() is None):
        future.result()


def until(abort: threading.Event, run: Run) -> Run:
    """The same, but what it runs ends when the others have been stopped."""

    def abortable(argv: Sequence[Argument], *, on_look: OnLook | None = None, **options: Any) -> CommandResult:
        def look() -> None:
            if abort.is_set():
                raise StopRequested("Another quality stopped them all.")
            if on_look:
                on_look()

        return run(argv, on_look=look, **options)

    return abortable


def encode_with_fallback(
    task: Task, rung: Rung, encoders: Sequence[Encoder], logger: Logger, listener: Listener
) -> tuple[Rendition, int]:
    """With the first encoder that does it. The next starts afresh: chunks of two encoders do not fit together."""
    encoder, *others = encoders
    encoding = Encoding(task, rung, encoder, logger, listener)
    if not encoding.can_encode and encoding.missing():  # nothing can be added to what another ffmpeg made
        encoding = Encoding(replace(task, pinned=None), rung, encoder, logger, listener)
    try:
        return encoding.run(), encoding.done
    except EncoderFailed as error:
        if not others:
            raise
        logger.warning("encoder failed, trying the next quality=%s reason=%r", rung.name, str(error))
    return encode_with_fallback(task, rung, others, logger, listener)


def encode_audio(task: Task, rate: int) -> None:
    folder = task.version / AUDIO
    folder.mkdir(parents=True)
    argv = commands.encode_audio(task.ffmpeg, task.path, task.source, rate, task.segment_seconds)
    gauge = Gauge(lambda gauge: None)
    run_ffmpeg(task, argv, timeout=LEAST_SECONDS + task.source.duration, gauge=gauge, cwd=folder)


def parallel(rungs: Sequence[Rung]) -> int:
    """As many as cores and memory allow."""
    if conf.VIDEO_PARALLEL:
        return conf.VIDEO_PARALLEL
    fitting = memory_bytes() // MEMORY_EACH
    return max(1, min(len(rungs) + 1, -(-cpu_count() // CORES_EACH) + 1, fitting))
