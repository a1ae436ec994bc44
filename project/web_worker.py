"""How gunicorn serves ASGI: uvicorn, told to stop in time."""

import os
import signal
from typing import Any

from uvicorn_worker import UvicornWorker  # type: ignore[import-untyped]

from jobs.handlers.confinement import PR_SET_PDEATHSIG, prctl
from project.pace import PatientProtocol


class WebWorker(UvicornWorker):
    """Ends what is left of its requests just before gunicorn would kill it."""

    CONFIG_KWARGS = {**UvicornWorker.CONFIG_KWARGS, "server_header": False, "ws": "none", "http": PatientProtocol}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.config.timeout_graceful_shutdown = max(1, self.cfg.graceful_timeout - 2)

    def init_process(self) -> None:
        """When gunicorn's own process is killed, the kernel tells us: who stayed would keep its port from another."""
        if prctl(PR_SET_PDEATHSIG, signal.SIGTERM) and os.getppid() != self.ppid:  # it ended before we asked
            raise SystemExit(1)
        super().init_process()
