"""Every operation of the queue's API: how it is called, and which permission it needs."""

from dataclasses import dataclass, field
from typing import Any

from django.test import Client

from tests.api.calls import QUEUE, post_json


@dataclass(frozen=True)
class Operation:
    method: str
    path: str
    permission: str
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def takes_body(self) -> bool:
        one_job = self.path.startswith("/jobs/") and not self.path.endswith("/priority")
        return self.method == "POST" and not one_job

    def call(self, client: Client, job_id: int = 1, **more: Any) -> Any:
        address = QUEUE + self.path.replace("{job_id}", str(job_id))
        return client.get(address, **more) if self.method == "GET" else post_json(client, address, self.body, **more)


OPERATIONS = {
    operation.path: operation
    for operation in (
        Operation("GET", "/depth", "view_queue"),
        Operation("GET", "/jobs", "view_job"),
        Operation("GET", "/jobs/{job_id}", "view_job"),
        Operation("POST", "/jobs/{job_id}/retry", "change_job"),
        Operation("POST", "/jobs/{job_id}/requeue", "change_job"),
        Operation("POST", "/jobs/{job_id}/cancel", "change_job"),
        Operation("POST", "/jobs/{job_id}/priority", "change_job", {"priority": 5}),
        Operation("POST", "/retry-errors", "change_job"),
        Operation("POST", "/clear-completed", "delete_job"),
        Operation("POST", "/clear-errors", "delete_job"),
        Operation("POST", "/enqueue", "add_job", {"kind": "test.noop"}),
        Operation("POST", "/pause", "change_queue", {"queue": "media"}),
        Operation("POST", "/resume", "change_queue", {"queue": "media"}),
    )
}
CHANGING = {path: operation for path, operation in OPERATIONS.items() if operation.method == "POST"}
EVERY_PERMISSION = tuple(
    f"{verb}_{model}" for verb in ("view", "add", "change", "delete") for model in ("job", "queue")
)
# Who may operate or administer may look, too: as in the admin.
ALSO = {"view_job": {"change_job", "delete_job"}, "view_queue": {"change_queue", "delete_queue"}}
