"""A remote worker's attempt in this process: the real handler, with files over HTTP from a real web server."""

from pathlib import Path

from jobs.handlers.base import ClaimedJob, Outcome
from jobs.handlers.context import Context
from jobs.handlers.files import JobFiles
from jobs.lifecycle.claim import claim
from jobs.lifecycle.remote_workers import register
from jobs.models import Worker
from jobs.worker.attempt import Attempt
from jobs.worker.execution import run_attempt
from jobs.worker.http_client import HttpClient
from jobs.worker.http_server import Server
from jobs.worker.remote_files import remote_files
from tests.videos.studio import Studio
from tests.web.server import WebServer


class FarStudio(Studio):
    def __init__(self, folder: Path, web: WebServer) -> None:
        super().__init__(folder)
        self.worker, _, key = register("far")
        self.server = Server(f"http://127.0.0.1:{web.port}", key)
        self.client = HttpClient(self.server)
        self.client.register()
        self.make_files = remote_files(self.server)

    def claim(self) -> ClaimedJob:
        [job] = claim(Worker.objects.get(pk=self.worker.pk), ["media"])
        return job

    def context(self, job: ClaimedJob) -> Context:
        self.attempt, self.reporter.claim = Attempt(job), job.claim
        files = self.make_files
        return Context(
            job, self.reporter, self.attempt, self.folders, "far", files=lambda context: files(job.claim, context)
        )

    def files(self, job: ClaimedJob) -> JobFiles:
        return self.context(job).files

    def run(self, job: ClaimedJob) -> Outcome | None:
        context = self.context(job)
        assert self.attempt is not None
        return run_attempt(self.attempt, context)

    def close(self) -> None:
        self.client.connection.close()
