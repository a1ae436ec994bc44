"""What tells the time of day tells another one; what measures time goes on as it should."""

import os
import time
from datetime import datetime, timedelta
from pathlib import Path

from django.apps import AppConfig
from django.utils import timezone

OFF = float(os.environ.get("CLOCK_IS_OFF", "600"))
FILE = os.environ.get("CLOCK_FILE")
tell_time, tell_moment = time.time, timezone.now


def off() -> float:
    return float(Path(FILE).read_text() or 0) if FILE else OFF


def wrong_time() -> float:
    return tell_time() + off()


def wrong_moment() -> datetime:
    return tell_moment() + timedelta(seconds=off())


class WrongClock(AppConfig):
    name = "tests.wrong_clock"

    def ready(self) -> None:
        time.time, timezone.now = wrong_time, wrong_moment
