"""What a remote worker hands over, beside `cp`: `python -m benchmarks.uploads [files] [megabytes of each]`.

One web process, SQLite, over the loopback: what HTTP, hashing, `fsync` and the note of each file cost; no network.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import django

from benchmarks.measure import interleave, timed
from tests.postgres import free_port

ROOT = Path(__file__).resolve().parent.parent
FILES, MEGABYTES, ROUNDS = 32, 4, 5


def boot(folder: Path) -> None:
    os.environ.update(
        DATABASE_URL=f"sqlite:///{folder / 'bench.sqlite3'}",
        DEBUG="0",
        HTTPS="0",
        ALLOWED_HOSTS="127.0.0.1",
        SECRET_KEY=secrets.token_urlsafe(50),
        LOG_LEVEL="ERROR",
        MEDIA_ROOT=str(folder / "media"),
        DJANGO_SETTINGS_MODULE="project.settings",
    )
    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


@contextmanager
def web() -> Iterator[str]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "gunicorn"], cwd=ROOT, env={**os.environ, "PORT": str(port)})
    try:
        for _ in range(400):
            with suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health/live")
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def sending(url: str, made: Path) -> "partial[None]":
    """An attempt's own way to hand a folder over, up to the list at its end."""
    from django.core.files.base import ContentFile

    from jobs.lifecycle.claim import claim
    from jobs.lifecycle.remote_workers import register
    from jobs.models import OutputFile, Worker
    from jobs.videos.lifecycle.add import add_video
    from jobs.worker.file_calls import FileCalls
    from jobs.worker.http_client import HttpClient
    from jobs.worker.http_server import Server
    from jobs.worker.remote_files import RemoteFiles, described

    worker, _, key = register("bench")
    client = HttpClient(Server(url, key))
    client.register()
    add_video(ContentFile(b"a film", name="film.mp4"))
    [job] = claim(Worker.objects.get(pk=worker.pk), ["media"])
    files = RemoteFiles(FileCalls(client.connection, job.claim, Unstoppable()))

    def send() -> None:
        OutputFile.objects.all().delete()  # else it would be told that all is there
        files._send_missing(made, [described(path, made) for path in sorted(made.iterdir())])

    return partial(send)


class Unstoppable:
    def raise_if_cancelled(self) -> None: ...
    def guard(self) -> None: ...


def copied(made: Path, target: Path, *, synced: bool) -> None:
    shutil.rmtree(target, ignore_errors=True)
    subprocess.run(["cp", "-r", made, target], check=True)
    if synced:
        subprocess.run(["sync", *sorted(target.iterdir()), target], check=True)


def main() -> None:
    told = [int(word) for word in sys.argv[1:3]]
    files, megabytes = told + [FILES, MEGABYTES][len(told) :]
    with tempfile.TemporaryDirectory(prefix="jobyard-bench-") as name:
        folder = Path(name)
        boot(folder)
        made = folder / "made"
        made.mkdir()
        for number in range(files):
            (made / f"segment_{number:05}.m4s").write_bytes(os.urandom(megabytes * 2**20))
        with web() as url:
            sides = {
                "upload": partial(timed, sending(url, made)),
                "cp": partial(timed, partial(copied, made, folder / "copy", synced=False)),
                "cp, then sync": partial(timed, partial(copied, made, folder / "copy", synced=True)),
            }
            taken = interleave(sides, rounds=ROUNDS, per_round=1, warm_up=1)
    for side in sides:
        seconds = taken.spread(side)
        print(f"{side:14} {files * megabytes / seconds.median:7.0f} MiB/s  ({seconds.low:.2f} to {seconds.high:.2f} s)")


if __name__ == "__main__":
    main()
