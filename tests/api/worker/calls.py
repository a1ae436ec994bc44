"""Calls of the worker API as a remote worker makes them."""

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from django.test import Client

from jobs.lifecycle.remote_workers import register
from jobs.models import Job, Worker
from jobs.wire.names import CLAIM_HEADER, KEY_HEADER, PROCESS_HEADER
from tests.api.calls import post_json

WORKER = "/api/worker"


@dataclass
class Machine:
    """A machine with the key of a worker; once it has started, with a process."""

    worker_id: UUID
    key: str
    process: UUID | None = None
    boot_id: str = field(default_factory=lambda: str(uuid4()))

    @property
    def headers(self) -> dict[str, str]:
        return {KEY_HEADER: self.key, **({PROCESS_HEADER: str(self.process)} if self.process else {})}

    @property
    def worker(self) -> Worker:
        return Worker.objects.get(pk=self.worker_id)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return post_json(
            Client(enforce_csrf_checks=True), f"{WORKER}/{path}", body, headers={**self.headers, **headers}
        )

    def get(self, path: str, **headers: str) -> Any:
        return Client().get(f"{WORKER}/{path}", headers={**self.headers, **headers})

    def start(self, **told: Any) -> Any:
        self.process = self.process or uuid4()
        body = {"process": str(self.process), "hostname": "far", "pid": 7, "boot_id": self.boot_id, **told}
        return self.post("start", body)

    def claim(self, **told: Any) -> Any:
        return self.post("claim", {"claim_id": str(uuid4()), "queues": [], "limit": 1, "kinds": ["test.noop"], **told})

    def claimed(self, job: Job) -> str:
        """The id of its claim on this job, which is the only one that is ready."""
        [taken] = self.claim().json()["jobs"]
        assert taken["claim"]["job_id"] == job.pk
        return str(taken["claim"]["claim_id"])

    def verify(self, job_id: int, claim_id: str) -> Any:
        return self.get(f"{job_id}/verify", **{CLAIM_HEADER: claim_id})


def machine(name: str = "gpu-box", *, started: bool = True, **told: Any) -> Machine:
    worker, _, key = register(name)
    made = Machine(worker.pk, key)
    if started:
        assert made.start(**told).status_code == 200
    return made
