"""`runworker --server` on a machine that sees neither database nor storage: only the site's address and a key."""

from collections.abc import Sequence
from pathlib import Path

from jobs.lifecycle.remote_workers import register
from jobs.models import Worker
from tests.worker.stage import WorkerProcess

NO_DATABASE = "postgres://nobody@127.0.0.1:1/none"


class FarWorker(WorkerProcess):
    def __init__(self, folder: Path, name: str, url: str, inside: Sequence[str] = (), **env: str) -> None:
        self.worker, _, key = register(name)
        key_file = folder / f"{name}.key"
        key_file.touch(mode=0o600)
        key_file.write_text(key)
        told = {
            "DATABASE_URL": NO_DATABASE,
            "MEDIA_ROOT": str(folder / "there-is-no-storage-here"),
            "JOBS_WORK_DIR": str(folder / f"{name}-work"),
            "JOBS_CLAIM_DURATION": "120",
            "JOBS_HEARTBEAT_INTERVAL": "1",
            "JOBS_WORKER_OFFLINE_THRESHOLD": "120",
            **env,
        }
        arguments = ("--server", url, "--key-file", str(key_file), "--queue", "media", "--processes", "1")
        super().__init__(folder / f"{name}.log", arguments, told, inside)

    def row(self) -> Worker:
        return Worker.objects.get(pk=self.worker.pk)
