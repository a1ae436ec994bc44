"""From the outbox to a real server and back: signed, tried again, cut short, several at once."""

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.conf import LazySettings

from jobs.lifecycle.finish import complete
from jobs.management.commands.deliver_webhooks import DatabaseOutbox
from jobs.models import WebhookDelivery, WebhookHost
from jobs.webhooks.delivering import DeliveryTally, deliver
from jobs.webhooks.signing import headers, signature
from tests.factories import age, claimed, events_of, make_job, make_worker
from tests.webhooks.receiver import Heard, Receiver, running, say

pytestmark = pytest.mark.once  # what the engines do for it is tested with them, in tests/lifecycle
KEY = b"1\xf2\x90\xf6\xbf\x06)\x8a\xabO\x08\xd4<?\x08,\xf6H\xa3b\xda-\xa4\xb0"


def ended(receiver: Receiver, path: str = "/hook", **options: Any) -> WebhookDelivery:
    """The message about a job that was completed, and is to be sent there."""
    job = make_job(webhook_url=receiver.url(path), **options)
    complete(claimed(make_worker(), job), {"pages": 7})
    return WebhookDelivery.objects.get(job_id=job.pk)


def deliver_all(slots: int = 2) -> DeliveryTally:
    return deliver(DatabaseOutbox(), slots)


def again(row: WebhookDelivery) -> WebhookDelivery:
    return WebhookDelivery.objects.get(pk=row.pk)


def test_the_signature_is_that_of_the_convention():
    """The example that the libraries of Standard Webhooks are tested with."""
    signed = signature(KEY, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_each_secret_signs_and_without_one_nothing_is_signed():
    two = headers([KEY, b"x" * 32], "msg_1", 1, b"{}")["webhook-signature"].split(" ")
    assert two == [signature(KEY, "msg_1", 1, b"{}"), signature(b"x" * 32, "msg_1", 1, b"{}")]
    assert headers([], "msg_1", 1, b"{}") == {"webhook-id": "msg_1", "webhook-timestamp": "1"}


def is_signed(heard: Heard) -> bool:
    told = heard.headers
    return told["webhook-signature"] == signature(KEY, told["webhook-id"], int(told["webhook-timestamp"]), heard.body)


@pytest.mark.django_db
def test_a_message_arrives_signed_and_says_what_became_of_the_job(receiver: Receiver, secret: str):
    row = ended(receiver, subject="May", scope="books")
    assert deliver_all() == DeliveryTally(delivered=1)
    [heard] = receiver.heard
    assert is_signed(heard)
    assert heard.headers["webhook-id"] == row.message_id
    assert heard.headers["content-type"] == "application/json; charset=utf-8"
    message = json.loads(heard.body)
    assert (message["type"], set(message)) == ("job.completed", {"type", "timestamp", "data"})
    data = message["data"]
    assert {name: data[name] for name in ("job_id", "kind", "subject", "scope", "status", "attempt", "result")} == {
        "job_id": row.job_id, "kind": "test.noop", "subject": "May", "scope": "books", "status": "completed",
        "attempt": 1, "result": {"pages": 7},
    }  # fmt: skip
    assert again(row).status == "delivered"
    assert events_of(row.job_id)[-2:] == ["completed", "webhook_delivered"]


@pytest.mark.django_db
def test_it_is_sent_again_with_the_same_id_and_body_until_it_is_taken(receiver: Receiver, secret: str):
    row = ended(receiver)
    receiver.answers = [500, lambda request: say(request, 302, Location=receiver.url("/elsewhere")), 404]
    for _ in range(4):
        deliver_all()
        WebhookDelivery.objects.filter(status="pending").update(next_try_at=row.created_at)
    assert [heard.path for heard in receiver.heard] == ["/hook"] * 4
    assert {heard.headers["webhook-id"] for heard in receiver.heard} == {row.message_id}
    assert len({heard.body for heard in receiver.heard}) == 1
    assert all(is_signed(heard) for heard in receiver.heard)
    tries = list(again(row).history.values_list("status", "error"))
    assert tries == [
        (500, "It answered 500."),
        (302, "It answered 302: redirects are not followed, so give the address that it leads to."),
        (404, "It answered 404."),
        (204, ""),
    ]


@pytest.mark.django_db
def test_who_says_gone_is_left_alone(receiver: Receiver):
    row = ended(receiver)
    receiver.answers = [410]
    deliver_all()
    assert (again(row).status, again(row).tries) == ("failed", 1)


@pytest.mark.django_db
def test_who_asks_for_time_gets_it(receiver: Receiver):
    row = ended(receiver)
    receiver.answers = [lambda request: say(request, 429, Retry_After="120")]
    deliver_all()
    before = again(row)
    assert before.next_try_at
    assert 119 <= (before.next_try_at - before.history.get().at).total_seconds() <= 121
    assert WebhookHost.objects.get().failures == 1


@pytest.mark.django_db
def test_where_it_may_not_go_it_fails_at_once_and_no_host_is_blamed(receiver: Receiver, settings: LazySettings):
    row = ended(receiver)
    settings.JOBS_WEBHOOK_ALLOW = ""
    assert deliver_all() == DeliveryTally(not_delivered=1)
    assert (again(row).status, again(row).tries) == ("failed", 1)
    assert again(row).last_error.startswith("Nothing was sent: the URL leads to 127.0.0.1, which is loopback")
    assert receiver.heard == []
    assert not WebhookHost.objects.exists()


@pytest.mark.django_db
def test_a_server_that_is_down_opens_its_breaker_and_one_that_is_back_closes_it(settings: LazySettings):
    settings.JOBS_WEBHOOK_ALLOW = "127.0.0.0/8"
    with running() as receiver:
        rows = [ended(receiver) for _ in range(6)]
        port = receiver.port
    deliver_all(slots=4)
    host = WebhookHost.objects.get()
    assert (host.host, host.failures, host.openings) == (f"127.0.0.1:{port}", 6, 1)
    age(37)  # longer than the pause with its jitter
    with running(port=port) as receiver:
        deliver_all(slots=4)
        assert len(receiver.heard) == 6
    assert {again(row).status for row in rows} == {"delivered"}
    assert not WebhookHost.objects.exists()


@contextmanager
def hanging(receiver: Receiver) -> Iterator[threading.Event]:
    let_go = threading.Event()
    try:
        yield let_go
    finally:
        let_go.set()


@pytest.mark.django_db
def test_a_slow_host_leaves_room_for_others(receiver: Receiver):
    with running() as slow, hanging(slow) as let_go:
        for _ in range(4):
            ended(slow)
        quick = [ended(receiver) for _ in range(3)]

        def wait_for_the_others(request: Any) -> None:
            receiver.wait_for(3)
            let_go.set()
            say(request, 204)

        def wait(request: Any) -> None:
            assert let_go.wait(20)
            say(request, 204)

        slow.answers = [wait_for_the_others, wait, wait, wait]
        assert deliver_all(slots=4) == DeliveryTally(delivered=7)
    assert {again(row).status for row in quick} == {"delivered"}


@pytest.mark.django_db
def test_when_it_is_enough_what_is_under_way_is_still_recorded(receiver: Receiver):
    rows = [ended(receiver) for _ in range(3)]
    asked = iter([False, True, True, True, True])
    assert deliver(DatabaseOutbox(), 1, lambda: next(asked)) == DeliveryTally(delivered=1)
    assert [again(row).status for row in rows] == ["delivered", "pending", "pending"]


@pytest.mark.django_db
def test_what_is_logged_and_shown_has_neither_the_secret_nor_the_path(
    receiver: Receiver, secret: str, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.DEBUG, "jobs")
    row = ended(receiver, "/services/T0/very-secret-token")
    receiver.answers = [500]
    deliver_all()
    assert "webhook not delivered" in caplog.text
    assert receiver.host in caplog.text
    assert "very-secret-token" not in caplog.text
    assert secret not in caplog.text
    assert "very-secret-token" not in str(row)
