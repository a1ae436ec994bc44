"""What no exception does, this does: it ends the thread."""

import os
from pathlib import Path

from django.apps import AppConfig

from jobs.worker.heartbeat import Heartbeat


class DyingHeartbeat(AppConfig):
    name = "tests.dying_heartbeat"

    def ready(self) -> None:
        beat = Heartbeat.beat

        def dying_beat(self: Heartbeat) -> None:
            if Path(os.environ["DIE_WHEN"]).exists():
                raise SystemExit
            beat(self)

        Heartbeat.beat = dying_beat  # type: ignore[method-assign]
