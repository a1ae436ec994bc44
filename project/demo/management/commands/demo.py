"""`manage.py demo`: transcode a video and run a handful of small jobs, and show what became of each."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from jobs import NewJob, enqueue_many
from jobs.handlers.files import job_storage
from jobs.models import Job
from jobs.selectors.depth import Depths, queue_depths
from jobs.states import TERMINAL, Hold, Status
from jobs.videos.exceptions import NotStored
from jobs.videos.lifecycle.add import add_video
from jobs.videos.models import Video
from jobs.videos.names import version_folder
from jobs.videos.transcoding.manifest import MASTER
from jobs.videos.transcoding.validate import problems_of
from project.demo.clip import SECONDS, make_clip

JOBS = [
    NewJob("demo.checksum", {"folder": "jobs"}, subject="checksum of the source", priority=-10),
    NewJob("demo.archive", {"folder": "project"}, subject="archive of the project"),
    NewJob("demo.flaky", {}, subject="fails once, then works"),
    NewJob("demo.checksum", {"folder": "nowhere"}, subject="cannot succeed: fails at once", max_attempts=3),
]
QUEUES = ["media", "archive", "default"]
EXPECTED = [Status.COMPLETED, Status.COMPLETED, Status.COMPLETED, Status.COMPLETED, Status.FAILED]  # the video first
ATTEMPTS = [1, 1, 1, 2, 1]

NEXT = """
What to try next, after `export DEBUG=1` (or with a .env file that sets SECRET_KEY: see .env.example):
  make serve                                   the web admin, a worker and a reaper in one terminal; then watch
                                               the video at the address it prints + videos/{slug}/
  .venv/bin/python manage.py transcode FILE    transcode a video of your own
  .venv/bin/python manage.py queue_status      how deep each queue is, and who holds what
  .venv/bin/python manage.py show_job {failed:<8} why a job failed, with its history
  .venv/bin/python manage.py retry_jobs {failed:<6} give it another try
  .venv/bin/python manage.py enqueue demo.checksum folder=docs"""


class Command(BaseCommand):
    help = "Transcode a clip and run a handful of small jobs with a worker, and show what became of each."

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "100")))
        depths = queue_depths()
        refuse_if_paused(depths)
        video, job_id = add_clip(console)
        ids = [job_id, *enqueue_many(JOBS).created]
        console.print(f"Enqueued {len(ids)} jobs into the queues default, archive and media.")
        console.print(about_others(depths), soft_wrap=True)
        call_command("runworker", "--until-empty", "--name=demo", *(f"--queue={queue}" for queue in QUEUES))
        jobs = when_ended(ids)
        console.print(summary(jobs))
        if [job.status for job in jobs] != EXPECTED or [job.attempt for job in jobs] != ATTEMPTS:
            raise CommandError("The demo did not end as it should: see the table above.")
        console.print(about_version(video))
        console.print("[green]Everything ended as it should[/], the last job's failure included.")
        self.stdout.write(NEXT.format(failed=ids[-1], slug=video.slug))


def add_clip(console: Console) -> tuple[Video, int]:
    """Upload a clip as a user would; and once more, as users do."""
    with TemporaryDirectory() as folder:
        clip = make_clip(Path(folder))
        try:
            added = add_video(clip, title="Demo clip")
        except NotStored as error:
            raise CommandError(f"{error} Look at MEDIA_ROOT.") from error
        video = added.video
        console.print(f"Added the video [bold]{video.title}[/]: {SECONDS} s of 1280 × 720 with sound.")
        again = add_video(clip, title="Demo clip")
        if again.created or again.video != video:
            raise CommandError("The same file was added twice, but it must be met as a duplicate.")
        console.print("Added it again: no second video, for the content is the same.")
        assert added.job_id is not None, "a new video has a job"
        return video, added.job_id


def about_version(video: Video) -> str:
    """What was published, checked file by file and frame by frame."""
    video.refresh_from_db()
    folder = Path(job_storage().path(version_folder(video.pk, video.version)))
    problems = problems_of(folder, thorough=True)
    if problems:
        raise CommandError("The published version is not as it should be:\n" + "\n".join(problems))
    names = ", ".join(video.qualities.values_list("name", flat=True))
    return f"The video has {names}; every frame was decoded and checked: {folder / MASTER}"


def refuse_if_paused(depths: Depths) -> None:
    """Before anything is enqueued: in a paused queue it would wait, and the demo with it."""
    paused = [queue for queue in QUEUES if queue in depths.paused]
    if paused:
        resume = " && ".join(f"DEBUG=1 .venv/bin/python manage.py resume_queue {queue}" for queue in paused)
        raise CommandError(
            f"Paused: {', '.join(paused)}. The demo's jobs would wait there, so none was enqueued. "
            f"Resume first, then try again:\n  {resume}"
        )


def about_others(depths: Depths) -> str:
    """The demo's worker takes whatever is due in its queues, and whoever watches should know."""
    waiting = sum(depths.queues[queue].pending for queue in QUEUES if queue in depths.queues)
    if not waiting:
        return ""
    wait, them = ("1 other job waits", "it") if waiting == 1 else (f"{waiting:,} other jobs wait", "them")
    return f"{wait} in these queues already: the demo's worker runs {them}, too.\n"


def when_ended(ids: list[int], patience: float = 60) -> list[Job]:
    """The jobs once none is under way; another worker, of `make serve` perhaps, may still have one of them."""
    deadline = monotonic() + patience
    under_way = Job.objects.filter(pk__in=ids, hold=Hold.NONE).exclude(status__in=TERMINAL)
    while under_way.exists() and monotonic() < deadline:
        sleep(0.1)
    return list(Job.objects.filter(pk__in=ids).order_by("pk"))


def summary(jobs: list[Job]) -> Table:
    table = Table(title="What became of the jobs", title_justify="left")
    for heading in ("job", "kind", "status", "attempts", "result or error"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "kind")
    for job in jobs:
        outcome = job.last_error if job.status == Status.FAILED else str(job.result)
        style = "red" if job.status == Status.FAILED else "green"
        cells = (job.pk, job.kind, Text(job.status, style), job.attempt, Text(cut(outcome)))
        table.add_row(*(cell if isinstance(cell, Text) else str(cell) for cell in cells))
    return table


def cut(text: str, longest: int = 90) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
