"""Three hosts, a site and two workers: one loses its network in an upload; one is cut off until others take over."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import LazySettings

from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.reap import reap_once
from jobs.models import Job, Output, OutputFile
from jobs.selectors.clock import database_now
from jobs.states import TERMINAL, Status
from jobs.videos.lifecycle.add import add_video
from jobs.videos.models import Video
from jobs.videos.transcoding.validate import problems_of
from tests.concurrency.threads import wait_until
from tests.remote.far_worker import FarWorker
from tests.remote.hosts import Host, Network, network
from tests.videos import sources
from tests.web.server import WebServer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
LONG = 180.0
SHORT_LEASE = {
    "JOBS_HEARTBEAT_INTERVAL": "1",
    "JOBS_CLAIM_DURATION": "4",
    "JOBS_WORKER_OFFLINE_THRESHOLD": "4",
    "JOBS_REAP_GRACE": "0",
    "JOBS_BACKOFF_BASE": "0",
}


@pytest.fixture
def net() -> Iterator[Network]:
    with network(2) as made:
        yield made


@pytest.fixture
def media(tmp_path: Path, settings: LazySettings) -> Path:
    settings.MEDIA_ROOT = tmp_path / "media"
    for name, value in SHORT_LEASE.items():
        setattr(settings, name, value)
    return tmp_path / "media"


@pytest.fixture
def web(tmp_path: Path, media: Path, net: Network, transactional_db: None) -> Iterator[WebServer]:
    told = {"MEDIA_ROOT": str(media), "ALLOWED_HOSTS": f"127.0.0.1,localhost,{net.address}", **SHORT_LEASE}
    with WebServer(tmp_path / "web.log", address=net.address, **told) as server:
        yield server


def worker_on(host: Host, tmp_path: Path, net: Network, web: WebServer, stack: ExitStack) -> FarWorker:
    url = f"http://{net.address}:{web.port}"
    worker = FarWorker(tmp_path, f"on-{host.name}", url, host.inside, JOBS_SERVER_ALLOW_HTTP="1", **SHORT_LEASE)
    stack.callback(worker.end)
    return worker


def is_in_the_middle(job_id: int) -> bool:
    """Of its upload: some files are there, and not all."""
    return OutputFile.objects.filter(output__job_id=job_id, output__finalized_at=None).exists()


def is_missed(worker: FarWorker) -> bool:
    """It should have beaten twice."""
    beaten = worker.row().last_heartbeat
    return beaten is not None and database_now() - beaten > timedelta(seconds=2)


def test_one_loses_its_network_in_an_upload_and_one_for_good(tmp_path: Path, media: Path, net: Network, web: WebServer):
    source = sources.landscape(tmp_path)
    with ExitStack() as stack:
        first = worker_on(net.hosts[0], tmp_path, net, web, stack)

        # It comes back before its lease is over: nothing is lost, and nothing done twice.
        video = add_video(source).video
        job = Job.objects.get(pk=video.job_id or 0)
        wait_until(lambda: is_in_the_middle(job.pk), LONG)
        net.hosts[0].pull()
        wait_until(lambda: is_missed(first), LONG)
        there = OutputFile.objects.filter(output__job_id=job.pk).count()
        net.hosts[0].plug_in()
        wait_until(lambda: Job.objects.filter(pk=job.pk, status__in=TERMINAL).exists(), LONG)
        job.refresh_from_db()
        assert (job.status, job.attempt, job.last_error) == (Status.COMPLETED, 1, ""), first.log.read_text()
        assert there > 0
        assert is_published_once(video, media)

        # It stays away past its lease: another one makes the video, and what the first one says later is not heard.
        second_video = add_video(source, force=True).video
        second_job = Job.objects.get(pk=second_video.job_id or 0)
        wait_until(lambda: is_in_the_middle(second_job.pk), LONG)
        net.hosts[0].pull()
        worker_on(net.hosts[1], tmp_path, net, web, stack)
        wait_until(
            lambda: bool(reap_once().requeued) or Job.objects.filter(pk=second_job.pk, attempt__gt=1).exists(), LONG
        )
        wait_until(lambda: Job.objects.filter(pk=second_job.pk, status__in=TERMINAL).exists(), LONG)
        version = Video.objects.get(pk=second_video.pk).version
        net.hosts[0].plug_in()
        wait_until(lambda: "claim lost" in first.log.read_text(), LONG)
        second_job.refresh_from_db()
        assert (second_job.status, second_job.attempt) == (Status.COMPLETED, 2), first.log.read_text()
        assert Video.objects.get(pk=second_video.pk).version == version
        prune_once()
        assert is_published_once(second_video, media)
        assert not Output.objects.exists()


def is_published_once(video: Video, media: Path) -> bool:
    video.refresh_from_db()
    folder = media / "videos" / str(video.pk)
    return problems_of(folder / video.version) == [] and [path.name for path in folder.iterdir()] == [video.version]
