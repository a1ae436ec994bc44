"""Workers that are killed while they transcode: the next one goes on, and the log proves from where."""

import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.models import Job
from jobs.states import TERMINAL, Status
from jobs.videos.lifecycle.add import add_video
from jobs.videos.models import Video
from tests.factories import reload
from tests.videos import sources
from tests.videos.checker import check
from tests.worker.stage import SHORT, Stage, WorkerProcess, is_alive, thaw

pytestmark = pytest.mark.once

SECONDS, RATE, CHUNKS = 24, 10, 4
SIZES = {"480p": (854, 480), "360p": (640, 360)}
CHUNK = re.compile(r"chunk encoded quality=(\w+) chunk=(\d+)")


@pytest.fixture
def stage(tmp_path: Path, transactional_db: None, settings: LazySettings, media: Path) -> Iterator[Stage]:
    for name, value in SHORT.items():
        setattr(settings, name, value)
    stage = Stage(tmp_path)
    yield stage
    stage.end()


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sources") / "thirty.mp4"
    graphs = sources.lavfi(f"testsrc2=size=854x480:rate={RATE}:duration={SECONDS}", f"sine=duration={SECONDS}")
    sources.ffmpeg(*graphs, *sources.X264, *sources.AAC, path)
    return path


@pytest.fixture
def video(stage: Stage, source: Path) -> Video:
    return add_video(source).video


def start(stage: Stage, media: Path, **env: str) -> WorkerProcess:
    told = {"MEDIA_ROOT": str(media), "JOBS_VIDEO_CHUNK_SEGMENTS": "1", "JOBS_WORK_DIR": str(stage.folder / "work")}
    told |= {"JOBS_REAP_INTERVAL": "0.3"}
    return stage.worker("--queue", "media", reaps=True, **(told | env))


def encoded(worker: WorkerProcess) -> Counter[tuple[str, str]]:
    return Counter((match[1], match[2]) for match in CHUNK.finditer(worker.log.read_text()))


def programs(worker: WorkerProcess) -> list[int]:
    """The ffmpegs that run for a worker."""
    found = []
    for pid in worker.family():
        name = Path(f"/proc/{pid}/cmdline")
        if name.exists() and b"ffmpeg" in name.read_bytes():
            found.append(pid)
    return found


def is_right(video: Video, media: Path) -> bool:
    video.refresh_from_db()
    folder = media / "videos" / str(video.pk) / video.version
    check(folder, duration=SECONDS, frame_rate=RATE, sizes=SIZES, audio=True, frames=SECONDS * RATE)
    return True


@pytest.mark.parametrize("after", [1, 2 * CHUNKS - 1])
def test_a_killed_worker_costs_a_chunk_of_each_quality_at_most(stage: Stage, media: Path, video: Video, after: int):
    first = start(stage, media)
    stage.wait_for(lambda: encoded(first).total() >= after, seconds=60)
    ffmpegs = programs(first)
    first.send(signal.SIGKILL)
    first.exit_code()
    stage.wait_for(lambda: not any(is_alive(pid) for pid in ffmpegs))
    second = start(stage, media)
    stage.wait_for(lambda: job_of(video).status in TERMINAL, seconds=60)
    assert is_right(video, media)
    kept, again = encoded(first), encoded(second)
    assert set(kept) | set(again) == {(name, str(number + 1)) for name in SIZES for number in range(CHUNKS)}
    twice = Counter(quality for quality, _ in kept & again)
    assert all(number <= 1 for number in twice.values()), f"encoded again: {kept & again}"


def test_a_worker_that_is_asked_to_stop_ends_its_programs_and_the_next_goes_on(stage: Stage, media: Path, video: Video):
    first = start(stage, media, JOBS_SHUTDOWN_TIMEOUT="0")
    stage.wait_for(lambda: encoded(first).total() >= 2, seconds=60)
    ffmpegs = programs(first)
    first.send(signal.SIGTERM)
    assert first.exit_code() == 0
    assert not any(is_alive(pid) for pid in ffmpegs)
    job = job_of(video)
    assert (job.status, job.attempt) == (Status.PENDING, 0)
    assert not (media / "videos").exists()  # nothing half-done is visible
    second = start(stage, media)
    stage.wait_for_end(job.pk)
    assert is_right(video, media)
    assert not encoded(first) & encoded(second)


@pytest.mark.parametrize("place", ["the same folder", "another machine's folder"])
def test_a_worker_that_was_frozen_until_another_took_over_does_no_harm(stage: Stage, media: Path, video: Video, place):
    first = start(stage, media)
    stage.wait_for(lambda: encoded(first).total() >= 1, seconds=60)
    ffmpegs, frozen = programs(first), first.freeze()
    elsewhere = {} if place == "the same folder" else {"JOBS_WORK_DIR": str(stage.folder / "elsewhere")}
    second = start(stage, media, **elsewhere)
    if not elsewhere:  # it wakes up in the midst of what the other one does
        stage.wait_for(lambda: programs(second), seconds=60)
        thaw(frozen)
    stage.wait_for(lambda: job_of(video).status == Status.COMPLETED, seconds=60)
    published = reload_version(video)
    thaw(frozen)
    stage.wait_for(lambda: not any(is_alive(pid) for pid in ffmpegs))
    first.send(signal.SIGTERM)
    first.exit_code()
    assert reload_version(video) == published
    assert is_right(video, media)
    assert not elsewhere or encoded(second).total() == 2 * CHUNKS


def job_of(video: Video) -> Job:
    assert video.job_id is not None
    return reload(video.job_id)


def reload_version(video: Video) -> str:
    video.refresh_from_db()
    return video.version
