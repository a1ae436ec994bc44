"""`deliver_webhooks`: sends what is due, and says what became of it."""

import signal
import subprocess
from collections.abc import Iterator

import pytest
from django.conf import LazySettings

from jobs.lifecycle.finish import complete
from jobs.models import WebhookDelivery
from tests.commands.calls import refused, run, run_json
from tests.factories import claimed, make_job, make_worker
from tests.manage import start
from tests.webhooks.receiver import Receiver, running

pytestmark = pytest.mark.once


@pytest.fixture
def receiver(settings: LazySettings) -> Iterator[Receiver]:
    settings.JOBS_WEBHOOK_ALLOW = "127.0.0.0/8"
    with running() as receiver:
        yield receiver


def ended(receiver: Receiver) -> None:
    complete(claimed(make_worker(), make_job(webhook_url=receiver.url())))


@pytest.mark.django_db
def test_it_sends_what_is_due_and_tells(receiver: Receiver, settings: LazySettings):
    settings.JOBS_WEBHOOK_CONCURRENCY = 0  # of workers: this is for where they do not
    assert run("deliver_webhooks") == "Nothing is due.\n"
    for _ in range(2):
        ended(receiver)
    receiver.answers = [500]
    assert run("deliver_webhooks") == "Delivered 1 message; 1 was not taken.\n"
    ended(receiver)
    assert run_json("deliver_webhooks") == {"delivered": 1, "not_delivered": 0}


def test_an_interval_that_makes_no_sense_is_refused():
    assert refused("deliver_webhooks", "--loop", "0").code == 2


@pytest.mark.django_db(transaction=True)
def test_in_a_loop_it_goes_on_until_a_signal(receiver: Receiver):
    process = start("deliver_webhooks", "--loop", "0.1", env={"JOBS_WEBHOOK_ALLOW": "127.0.0.0/8"},
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    try:
        ended(receiver)
        receiver.wait_for(1)
        ended(receiver)
        receiver.wait_for(1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait(20)
        if process.stdout:
            process.stdout.close()
    assert set(WebhookDelivery.objects.values_list("status", flat=True)) == {"delivered"}
