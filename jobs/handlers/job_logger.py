"""`ctx.logger`: a logger whose lines say which job, attempt, kind and worker they are about."""

import logging
from collections.abc import MutableMapping
from typing import Any

from jobs.handlers.base import ClaimedJob


class JobLogger(logging.LoggerAdapter[logging.Logger]):
    def __init__(self, job: ClaimedJob, worker_name: str) -> None:
        about = {"job": job.id, "attempt": job.attempt, "kind": job.kind, "worker": worker_name}
        super().__init__(logging.getLogger(f"jobs.handler.{job.kind}"), about)

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Keep the handler's own extras, which the base class would drop."""
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return msg, kwargs
