"""A studio: the real handler of `transcode.hls` in this process, from the claim to the published version."""

import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

from jobs.handlers.base import Answer, Child, ClaimedJob, ClaimRef, Outcome, Report, Wish
from jobs.handlers.context import Context
from jobs.handlers.files import job_storage
from jobs.handlers.folders import Folders
from jobs.lifecycle import fence, finish, report
from jobs.lifecycle.claim import claim
from jobs.models import Job
from jobs.videos.lifecycle.add import add_video
from jobs.videos.models import Video
from jobs.videos.names import version_folder
from jobs.videos.selectors import library
from jobs.worker.attempt import Attempt
from jobs.worker.execution import run_attempt
from tests.factories import make_worker


class Reporter:
    """Stores what is reported; what other threads say is stored by the next word of ours, on our connection."""

    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.claim: ClaimRef | None = None
        self._kept: list[Report] = []
        self._main = threading.get_ident()

    def report(self, told: Report) -> None:
        self.reports.append(told)
        self._kept.append(told)
        if threading.get_ident() == self._main:
            self.flush()

    def ask(self, wish: Wish) -> tuple[Child, ...]:
        raise AssertionError("nothing is spawned here")

    def guard(self) -> None:
        self.flush()
        assert self.claim is not None
        fence.verify(self.claim)

    def flush(self) -> None:
        kept, self._kept = self._kept, []
        for told in kept:
            report.report(told)


class Studio:
    def __init__(self, folder: Path) -> None:
        self.folders = Folders(folder, "studio")
        self.reporter = Reporter()
        self.attempt: Attempt | None = None

    def add(self, path: Path, **options: Any) -> Video:
        return add_video(path, **options).video

    def claim(self) -> ClaimedJob:
        [job] = [job for job in claim(make_worker(), ["media"], 10, uuid4()) if job.kind == "transcode.hls"]
        return job

    def run(self, job: ClaimedJob) -> Outcome | None:
        """One attempt, not yet finished: what a worker has in hand."""
        self.attempt, self.reporter.claim = Attempt(job), job.claim
        context = Context(job, self.reporter, self.attempt, self.folders, "studio")
        return run_attempt(self.attempt, context)

    def finish(self, outcome: Outcome | None) -> Answer:
        assert outcome is not None
        return finish.finish_one(outcome)

    def transcode(self) -> Answer:
        return self.finish(self.run(self.claim()))

    def transcoded(self, path: Path, **options: Any) -> Video:
        """A video that was made of a source, whatever became of it."""
        video = self.add(path, **options)
        self.transcode()
        return self.reload(video)

    def reload(self, video: Video) -> Video:
        return library().get(pk=video.pk)

    def job_of(self, video: Video) -> Job:
        return Job.objects.get(pk=self.reload(video).job_id or 0)

    def stored(self, job: ClaimedJob) -> dict[str, bytes]:
        """What an attempt has put into the storage."""
        version = f"{job.id}-{job.claim.claim_id.hex[:8]}"
        folder = Path(job_storage().path(version_folder(job.payload["video"], version)))
        return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def folder_of(self, video: Video) -> Path:
        """The published version."""
        return Path(job_storage().path(version_folder(video.pk, video.version)))
