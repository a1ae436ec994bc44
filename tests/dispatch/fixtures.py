"""A Redis of the test's own, and JOBS_DISPATCH set to use it."""

import shutil
from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from jobs.dispatch import breaker, link
from tests.redis_server import COMMAND, MISSING, RedisServer


@pytest.fixture
def redis_server(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisServer]:
    if not shutil.which(COMMAND):
        pytest.skip(MISSING)
    monkeypatch.setattr(breaker, "FIRST_PAUSE", 0.3)
    with RedisServer() as server:
        settings.JOBS_DISPATCH, settings.JOBS_REDIS_URL = "redis", server.url
        yield server
        link.forget()
