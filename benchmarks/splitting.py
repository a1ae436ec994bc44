"""One video by two workers, each on a core of its own, beside the same video by one such worker.

`python -m benchmarks.splitting [SECONDS] [ROUNDS]` runs this measure; it needs two free cores. The time is the job's
own, from when it was enqueued to when its version was published, by the database's clock.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path

import django

from benchmarks.findings import Findings
from benchmarks.measure import interleave
from benchmarks.transcoding import ROOT, RUNGS, SIZE, make_source

GROUP = 60  # frames from key frame to key frame, as most files that are made to be sought in have
END_SECONDS = 60
LOOKS = 60  # of about a second each


def measure(seconds: int, rounds: int) -> Findings:
    found = Findings(f"One video, {seconds} s of {SIZE} into {', '.join(rung[0] for rung in RUNGS)}, by two workers")
    with tempfile.TemporaryDirectory(prefix="jobyard-bench-") as name:
        site = Site(Path(name))
        source = make_source(site.folder, seconds, GROUP)
        site.manage("migrate", "--verbosity", "0")
        sides = {"one": partial(site.transcode, source, 1), "two": partial(site.transcode, source, 2)}
        taken = interleave(sides, rounds=rounds, per_round=1, warm_up=0)
    found.milliseconds("one worker on one core", taken, "one")
    found.milliseconds("two workers on a core each", taken, "two")
    found.ratio("two : one", taken, "two", "one", at_most=0.6)
    found.lines += site.joining
    found.samples["seconds"] = taken.as_microseconds()
    return found


class Site:
    """A database, a storage and work directories of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.joining: list[str] = []
        # A short video has few chunks of the usual size: here each has one segment, as if it were ten times as long.
        self.environment = {
            **os.environ, "DEBUG": "0", "SECRET_KEY": "only for a benchmark",
            "DATABASE_URL": f"sqlite:///{folder / 'bench.sqlite3'}", "MEDIA_ROOT": str(folder / "media"),
            "JOBS_WORK_DIR": str(folder / "work"), "JOBS_VIDEO_CHUNK_SEGMENTS": "1", "JOBS_POLL_INTERVAL": "0.2",
        }  # fmt: skip

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, str(ROOT / "manage.py"), *arguments]

    def manage(self, *arguments: str) -> str:
        done = subprocess.run(
            self.command(*arguments), env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout

    def transcode(self, source: Path, workers: int) -> float:
        """Seconds, with so many workers, the first of them on the first core. One alone does not split its video."""
        how = "--split" if workers > 1 else "--no-split"
        with self.at_work(workers):
            [added] = json.loads(self.manage("transcode", "--force", "--wait", how, "--json", str(source)))["files"]
        job = json.loads(self.manage("show_job", str(added["job_id"]), "--json"))
        moments = {event["name"]: datetime.fromisoformat(event["at"]) for event in job["events"]}  # of each, the last
        if workers > 1:
            alone = moments["completed"] - moments["claimed"]
            self.joining.append(f"fetching, joining and checking took {alone.total_seconds():.1f} s of it")
        return (moments["completed"] - moments["enqueued"]).total_seconds()

    @contextmanager
    def at_work(self, number: int) -> Iterator[None]:
        cores = sorted(os.sched_getaffinity(0))[:number]
        workers = [self.worker(core) for core in cores]
        try:
            self.wait_for(number)
            yield
        finally:
            for worker in workers:
                worker.send_signal(signal.SIGTERM)
            for worker in workers:
                worker.wait(END_SECONDS)

    def worker(self, core: int) -> "subprocess.Popen[bytes]":
        pinned = ["taskset", "-c", str(core), *self.command("runworker", "--queue", "media")]
        with (self.folder / f"worker-{core}.log").open("a") as log:
            return subprocess.Popen(pinned, env=self.environment, stdout=log, stderr=log)

    def wait_for(self, number: int) -> None:
        """Until they are there: else the command would work by itself."""
        for _ in range(LOOKS):
            if len(json.loads(self.manage("list_workers", "--json"))["workers"]) >= number:
                return
        raise RuntimeError("the workers did not start")


if __name__ == "__main__":
    os.environ |= {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "project.settings"}
    django.setup()
    from benchmarks.report import show

    show(measure(*(int(given) for given in [*sys.argv[1:], *("24", "1")[len(sys.argv) - 1 :]])))
