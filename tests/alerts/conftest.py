"""Somebody on this machine who is told of alerts."""

from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from tests.webhooks.receiver import Receiver, running


@pytest.fixture
def receiver(settings: LazySettings) -> Iterator[Receiver]:
    """Private and without TLS, as the operator's own may be: nothing in JOBS_WEBHOOK_ALLOW is needed for it."""
    with running() as receiver:
        settings.JOBS_ALERT_WEBHOOK_URL = receiver.url("/alerts")
        yield receiver
