"""Remote workers as machines of their own: the site is killed under them, and every video is there at the end."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.models import Job, OutputFile
from jobs.states import TERMINAL, Status
from jobs.videos.lifecycle.add import add_video
from jobs.videos.models import Video
from jobs.videos.transcoding.validate import problems_of
from jobs.worker.nursery import children_of
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
def workers(tmp_path: Path, web: WebServer) -> Iterator[list[FarWorker]]:
    url = f"http://127.0.0.1:{web.port}"
    started = [FarWorker(tmp_path, f"far-{number}", url) for number in range(WORKERS)]
    yield started
    for worker in started:
        worker.end()


def any_has_ended(workers: list[FarWorker]) -> bool:
    return any(worker.process.poll() is not None for worker in workers)


def said(workers: list[FarWorker]) -> str:
    return "\n".join(worker.log.read_text()[-3000:] for worker in workers)


def test_the_site_is_killed_under_four_workers_and_every_video_ends_ready_and_valid(
    tmp_path: Path, media: Path, web: WebServer, workers: list[FarWorker]
):
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
