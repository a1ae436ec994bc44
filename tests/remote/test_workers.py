"""Remote workers as machines of their own: the site is killed under them, and every video is there at the end."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.models import Job, JobEvent, Output, OutputFile
from jobs.states import TERMINAL, Status
from jobs.videos.lifecycle.add import add_video
from jobs.videos.models import Video
from jobs.videos.transcoding.validate import problems_of
from jobs.worker.proc import children_of
from tests.concurrency.threads import wait_until
from tests.remote.far_worker import FarWorker
from tests.videos import sources
from tests.web.server import WebServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
LIVELY = {"JOBS_HEARTBEAT_INTERVAL": "1", "JOBS_CLAIM_DURATION": "120"}
WORKERS = 4
LONG = 240.0  # seconds: four encoders on two cores that others use, too


@pytest.fixture
def media(tmp_path: Path, settings: LazySettings) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    return tmp_path / "media"


@pytest.fixture
def web(tmp_path: Path, media: Path, transactional_db: None) -> Iterator[WebServer]:
    with WebServer(tmp_path / "web.log", MEDIA_ROOT=str(media), **LIVELY) as server:
        yield server


@pytest.fixture
def crew(tmp_path: Path, web: WebServer) -> Iterator[Callable[[int], list[FarWorker]]]:
    started: list[FarWorker] = []

    def start(number: int) -> list[FarWorker]:
        url = f"http://127.0.0.1:{web.port}"
        started.extend(FarWorker(tmp_path, f"far-{each}", url, JOBS_VIDEO_CHUNK_SEGMENTS="1") for each in range(number))
        return started

    yield start
    for worker in started:
        worker.end()


def any_has_ended(workers: list[FarWorker]) -> bool:
    return any(worker.process.poll() is not None for worker in workers)


def said(workers: list[FarWorker]) -> str:
    return "\n".join(worker.log.read_text()[-3000:] for worker in workers)


def test_the_site_is_killed_under_four_workers_and_every_video_ends_ready_and_valid(
    tmp_path: Path, media: Path, web: WebServer, crew: Callable[[int], list[FarWorker]]
):
    workers = crew(WORKERS)
    source = sources.landscape(tmp_path)
    videos = [add_video(source, force=True).video for _ in range(WORKERS)]
    jobs = Job.objects.filter(pk__in=[video.job_id for video in videos])
    wait_until(lambda: any_has_ended(workers) or jobs.filter(status=Status.RUNNING, progress__gt=0).exists(), LONG)
    assert not any_has_ended(workers), said(workers)
    for pid in [web.process.pid, *children_of(web.process.pid)]:
        with suppress(ProcessLookupError):  # one may end with the other
            os.kill(pid, signal.SIGKILL)
    web.process.wait()
    web.start()
    wait_until(lambda: jobs.filter(status__in=TERMINAL).count() == WORKERS, LONG)
    assert list(jobs.values_list("status", "attempt", "last_error")) == [(Status.COMPLETED, 1, "")] * WORKERS, said(
        workers
    )
    for video in Video.objects.all():
        assert problems_of(media / "videos" / str(video.pk) / video.version) == []
        assert [path.name for path in (media / "videos" / str(video.pk)).iterdir()] == [video.version]
    assert not OutputFile.objects.exists()
    assert not (tmp_path / "there-is-no-storage-here").exists()


def test_one_video_is_split_among_workers_that_see_neither_database_nor_storage(
    tmp_path: Path, media: Path, crew: Callable[[int], list[FarWorker]]
):
    workers, path = crew(2), tmp_path / "long.mp4"
    graphs = sources.lavfi("testsrc2=size=640x360:rate=5:duration=18", "sine=duration=18")
    sources.ffmpeg(*graphs, *sources.X264, *sources.AAC, path)
    wait_until(lambda: any_has_ended(workers) or all(worker.row().last_heartbeat for worker in workers), LONG)
    video = add_video(path, qualities=["360p"], split=True).video
    jobs, parts = Job.objects.filter(pk=video.job_id or 0), Job.objects.filter(kind="transcode.chunk")
    wait_until(lambda: any_has_ended(workers) or jobs.filter(status__in=TERMINAL).exists(), LONG)
    assert list(jobs.values_list("status", "attempt", "last_error")) == [(Status.COMPLETED, 1, "")], said(workers)
    assert list(parts.values_list("status", "attempt")) == [(Status.COMPLETED, 1)] * 3, said(workers)
    claimed = JobEvent.objects.filter(job_id__in=parts.values("pk"), name="claimed")
    assert set(claimed.values_list("worker_name", flat=True)) == {"far-0", "far-1"}
    video.refresh_from_db()
    assert problems_of(media / "videos" / str(video.pk) / video.version) == []
    assert not Output.objects.exists()
