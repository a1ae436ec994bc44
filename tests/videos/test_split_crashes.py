"""Several worker processes at one video: one that is killed costs its part, and a cancel reaches them all."""

import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.lifecycle.cancel import cancel
from jobs.models import Job
from jobs.states import TERMINAL, Status
from jobs.videos.lifecycle.add import add_video
from jobs.videos.models import Video
from tests.factories import reload
from tests.videos import sources
from tests.videos.checker import check
from tests.worker.stage import SHORT, Stage, WorkerProcess, is_alive

pytestmark = pytest.mark.once

SECONDS, RATE, PARTS = 36, 20, 6
CHUNK = re.compile(r"chunk encoded quality=(\w+) chunk=(\d+)")


@pytest.fixture
def stage(tmp_path: Path, transactional_db: None, settings: LazySettings, media: Path) -> Iterator[Stage]:
    for name, value in SHORT.items():
        setattr(settings, name, value)
    stage = Stage(tmp_path)
    yield stage
    stage.end()


@pytest.fixture
def video(stage: Stage, tmp_path: Path) -> Video:
    path = tmp_path / "film.mp4"
    sources.ffmpeg(*sources.lavfi(f"testsrc2=size=854x480:rate={RATE}:duration={SECONDS}"), *sources.X264, path)
    return add_video(path, qualities=["480p"], split=True).video


def start(stage: Stage, media: Path, place: str) -> WorkerProcess:
    """On a machine of its own: what one of them keeps, no other finds."""
    told = {"MEDIA_ROOT": str(media), "JOBS_VIDEO_CHUNK_SEGMENTS": "1", "JOBS_WORK_DIR": str(stage.folder / place)}
    return stage.worker("--queue", "media", reaps=True, **told, JOBS_REAP_INTERVAL="0.3")


def encoded(*workers: WorkerProcess) -> Counter[tuple[str, str]]:
    return Counter((match[1], match[2]) for worker in workers for match in CHUNK.finditer(worker.log.read_text()))


def programs(worker: WorkerProcess) -> list[int]:
    """The encoders that run for a worker."""
    lines = {pid: Path(f"/proc/{pid}/cmdline") for pid in worker.family()}
    return [pid for pid, line in lines.items() if line.exists() and b"libx264" in line.read_bytes()]


def job_of(video: Video) -> Job:
    assert video.job_id is not None
    return reload(video.job_id)


def test_a_killed_worker_costs_its_part_and_no_other(stage: Stage, media: Path, video: Video):
    first, second = start(stage, media, "one"), start(stage, media, "two")
    stage.wait_for(lambda: encoded(first, second) and programs(first), seconds=60)
    ffmpegs = programs(first)
    first.send(signal.SIGKILL)
    first.exit_code()
    stage.wait_for(lambda: job_of(video).status in TERMINAL, seconds=60)
    assert job_of(video).status == Status.COMPLETED, stage.logs()
    assert not any(is_alive(pid) for pid in ffmpegs)
    video.refresh_from_db()
    folder = media / "videos" / str(video.pk) / video.version
    check(folder, duration=SECONDS, frame_rate=RATE, sizes={"480p": (854, 480)}, audio=False, frames=SECONDS * RATE)
    made = encoded(first, second)
    assert set(made) == {("480p", str(number + 1)) for number in range(PARTS)}
    assert made.total() <= PARTS + 1, f"more than the part that was lost was made again: {made}"
    assert {reload(part.pk).crashes for part in Job.objects.filter(kind="transcode.chunk")} == {0, 1}
    assert job_of(video).attempt == 1  # what it cost is not charged to the video


def test_a_cancel_ends_all_that_encode_for_it(stage: Stage, media: Path, video: Video):
    workers = [start(stage, media, "one"), start(stage, media, "two")]
    stage.wait_for(lambda: any(map(programs, workers)), seconds=60)
    cancel([video.job_id or 0])
    parts = Job.objects.filter(kind="transcode.chunk")
    stage.wait_for(lambda: not parts.exclude(status__in=TERMINAL).exists())
    stage.wait_for(lambda: not any(map(programs, workers)))
    assert job_of(video).status == Status.CANCELLED
    assert Status.CANCELLED in {part.status for part in parts}
    video.refresh_from_db()
    assert video.version == ""
