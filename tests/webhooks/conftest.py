"""Somebody who hears webhooks, on this machine, which is allowed here."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from tests.webhooks.receiver import Receiver, running

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def receiver(settings: LazySettings) -> Iterator[Receiver]:
    settings.JOBS_WEBHOOK_ALLOW = "127.0.0.0/8"
    with running() as receiver:
        yield receiver


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("JOBS_WEBHOOK_SECRET", SECRET)
    return SECRET
