"""What tells the time of day tells another one; what measures time goes on as it should."""

import os
import time
from datetime import datetime, timedelta

from django.apps import AppConfig
from django.utils import timezone

OFF = float(os.environ.get("CLOCK_IS_OFF", "600"))
tell_time, tell_moment = time.time, timezone.now


def wrong_time() -> float:
    return tell_time() + OFF


def wrong_moment() -> datetime:
    return tell_moment() + timedelta(seconds=OFF)


class WrongClock(AppConfig):
    name = "tests.wrong_clock"

    def ready(self) -> None:
        time.time, timezone.now = wrong_time, wrong_moment
