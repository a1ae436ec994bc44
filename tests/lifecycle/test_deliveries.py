"""What becomes of messages: taken by one, tried again, given up, held while their host is down, sent again, pruned."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import complete
from jobs.lifecycle.give_up_deliveries import LOST, TOO_LATE
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.record_deliveries import record_deliveries, wait_after
from jobs.lifecycle.send_again import send_again
from jobs.lifecycle.take_deliveries import take_deliveries
from jobs.models import JobEvent, WebhookDelivery, WebhookHost, WebhookTry
from jobs.selectors.clock import database_now
from jobs.selectors.deliveries import next_delivery_in
from jobs.states import EventName
from jobs.webhooks.message import Delivery, Sent
from tests.factories import age, claimed, events_of, make_job, make_worker, shift

HOST = "hooks.example.org:443"
LEASE = 40  # seconds: the longest request and a margin
MINUTE, DAY = 60, 86_400


@pytest.fixture(autouse=True)
def _waits_are_exact(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.lifecycle.record_deliveries.JITTER", 0)
    monkeypatch.setattr("jobs.lifecycle.breaker.JITTER", 0)


def message(host: str = "hooks.example.org") -> WebhookDelivery:
    """The message about a job that was completed."""
    job = make_job(webhook_url=f"https://{host}/")
    complete(claimed(make_worker(), job), {"n": 1})
    return WebhookDelivery.objects.get(job_id=job.pk)


def messages(number: int, host: str = "hooks.example.org") -> list[WebhookDelivery]:
    return [message(host) for _ in range(number)]


def take(limit: int = 10, room: int = 10) -> list[Delivery]:
    return take_deliveries(limit, lambda host: room)


def good(delivery: Delivery) -> Sent:
    return Sent(delivery, True, 200, "ok", seconds=0.25)


def down(delivery: Delivery, **more: Any) -> Sent:
    return Sent(delivery, False, error="Connection refused.", host_is_well=False, **more)


def refused(delivery: Delivery, **more: Any) -> Sent:
    return Sent(delivery, False, 404, "what?", error="It answered 404.", **more)


def again(row: WebhookDelivery) -> WebhookDelivery:
    return WebhookDelivery.objects.get(pk=row.pk)


def wait_of(row: WebhookDelivery) -> float:
    """Seconds until its next try."""
    moment = again(row).next_try_at
    assert moment
    return (moment - database_now()).total_seconds()


def test_a_message_is_taken_by_one_and_says_the_same_each_time():
    row = message()
    [first] = take()
    assert take() == []
    shift(WebhookDelivery, LEASE + 1, leaving=("created_at", "enqueued_at", "started_at"))
    [second] = take()
    assert (first.id, first.message_id, first.body) == (second.id, second.message_id, second.body)
    assert first.message_id == row.message_id
    assert second.claim_id != first.claim_id


def test_what_was_delivered_is_over_and_stands_in_the_history():
    row = message()
    [delivery] = take()
    record_deliveries([good(delivery)])
    row = again(row)
    assert (row.status, row.tries, row.last_status, row.claim_id) == ("delivered", 1, 200, None)
    assert row.finished_at
    assert [(t.status, t.answer, t.seconds) for t in row.history.all()] == [(200, "ok", 0.25)]
    event = JobEvent.objects.get(name=EventName.WEBHOOK_DELIVERED, job_id=row.job_id)
    assert event.reason == f"completed to {HOST}: 200 in 0.25 s, try 1 of 5"
    age(DAY)
    assert take() == []


def test_five_tries_with_longer_and_longer_waits_then_it_has_failed():
    row = message()
    waits = []
    for _ in range(4):
        record_deliveries([refused(*take())])
        assert (again(row).status, take()) == ("pending", [])
        waits.append(wait_of(row))
        age(waits[-1] + 1)
    assert all(wait - 10 < waited <= wait for waited, wait in zip(waits, [15, 75, 375, 1875], strict=True))
    record_deliveries([refused(*take())])
    row = again(row)
    assert (row.status, row.tries, row.last_error) == ("failed", 5, "It answered 404.")
    assert WebhookTry.objects.filter(delivery=row).count() == 5
    assert events_of(row.job_id)[-1] == "webhook_failed"
    assert events_of(row.job_id).count("webhook_failed") == 1
    age(DAY)
    assert take() == []


def test_waits_are_spread_and_grow_no_longer_than_an_hour(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("jobs.lifecycle.record_deliveries.JITTER", 0.2)
    waits = [wait_after(2) for _ in range(50)]
    assert min(waits) >= 75
    assert max(waits) <= 90
    assert len(set(waits)) > 40
    assert wait_after(9) <= 3600 * 1.2


def test_a_receiver_may_ask_for_a_longer_wait():
    row = message()
    record_deliveries([refused(*take(), retry_after=300.0)])
    assert 280 < wait_of(row) <= 300


def test_what_is_hopeless_is_not_tried_again():
    row = message()
    record_deliveries([refused(*take(), hopeless=True)])
    assert (again(row).status, again(row).tries) == ("failed", 1)


def test_a_sender_that_was_too_slow_changes_nothing():
    row = message()
    [late] = take()
    age(LEASE + 1)
    [now] = take()
    record_deliveries([refused(late, hopeless=True)])
    assert (again(row).status, again(row).claim_id) == ("pending", now.claim_id)
    record_deliveries([good(now)])
    assert again(row).status == "delivered"
    record_deliveries([good(now)])
    assert WebhookTry.objects.count() == 1


def test_a_message_whose_senders_all_die_ends():
    row = message()
    for _ in range(5):
        assert len(take()) == 1
        age(LEASE + 1)
    assert take() == []
    assert (again(row).status, again(row).last_error) == ("failed", LOST)
    assert events_of(row.job_id)[-1] == "webhook_failed"


def test_what_could_not_be_delivered_for_a_day_is_given_up():
    row = message()
    age(DAY + 1)
    assert take() == []
    assert (again(row).status, again(row).tries, again(row).last_error) == ("failed", 0, TOO_LATE)


def test_a_job_that_is_gone_disturbs_nobody():
    gone, here = message(), message()
    assert clear([gone.job_id]) == [gone.job_id]
    deliveries = take()
    assert [delivery.job_id for delivery in deliveries] == [gone.job_id, here.job_id]
    record_deliveries([good(delivery) for delivery in deliveries])
    assert (again(gone).status, again(here).status) == ("delivered", "delivered")
    assert events_of(gone.job_id) == ["deleted"]  # no line that nobody would ever remove
    assert events_of(here.job_id)[-1] == "webhook_delivered"


def test_messages_that_ended_go_with_their_job_and_others_after_a_while(settings: Any):
    ended, alone, waiting = messages(3)
    deliveries = {delivery.id: delivery for delivery in take()}
    record_deliveries([good(deliveries[ended.pk]), good(deliveries[alone.pk]), refused(deliveries[waiting.pk])])
    clear([ended.job_id])
    assert set(WebhookDelivery.objects.values_list("pk", flat=True)) == {alone.pk, waiting.pk}
    settings.JOBS_RETENTION_COMPLETED = 0
    assert prune_once().webhooks_deleted == 0
    age(31 * DAY)
    assert prune_once().webhooks_deleted == 1
    assert list(WebhookDelivery.objects.values_list("pk", flat=True)) == [waiting.pk]
    assert list(WebhookTry.objects.values_list("delivery", flat=True)) == [waiting.pk]


def test_no_host_gets_more_than_it_has_room_for():
    messages(3, "slow.example.org")
    message("quick.example.org")
    assert [delivery.host for delivery in take(limit=3, room=2)] == ["slow.example.org:443"] * 2 + [
        "quick.example.org:443"
    ]
    assert len(take(limit=1)) == 1


def fail_all() -> list[Delivery]:
    deliveries = take()
    record_deliveries([down(delivery) for delivery in deliveries])
    return deliveries


def test_a_host_that_fails_again_and_again_is_left_alone_and_tried_with_one(settings: Any):
    settings.JOBS_WEBHOOK_BREAKER_PAUSE = 600  # so that a slow machine changes nothing
    messages(5)
    assert len(fail_all()) == 5
    age(500)  # all five are due again, but the breaker is open
    [later] = messages(1)
    assert take() == []
    assert again(later).shown_status == "held"
    other = message("other.example.org")
    [its_own] = take()
    assert its_own.id == other.pk  # nobody else has to wait
    record_deliveries([good(its_own)])
    age(101)
    [probe] = take()
    assert probe.host == HOST
    assert take() == []  # one is enough to know
    record_deliveries([down(probe)])
    assert take() == []
    age(1100)
    assert take() == []  # it is left alone for twice as long
    age(101)
    [probe] = take()
    record_deliveries([good(probe)])
    assert not WebhookHost.objects.exists()
    assert len(take()) == 5  # all that was held, and the one that was sent to try at first
    assert again(later).status == "pending"


def test_held_messages_are_not_charged():
    messages(5)
    fail_all()
    [later] = messages(1)
    for _ in range(3):
        take()
    assert again(later).tries == 0


def test_whoever_probed_and_died_is_followed_by_another():
    messages(5)
    fail_all()
    age(MINUTE)
    assert len(take()) == 1
    age(LEASE - 15)
    assert take() == []
    age(16)
    assert len(take()) == 1


def test_a_host_that_answers_is_well_whatever_it_says():
    for _ in range(6):
        messages(1)
        record_deliveries([refused(delivery) for delivery in take()])
    assert not WebhookHost.objects.exists()
    messages(4)
    record_deliveries([down(delivery) for delivery in take()])
    assert WebhookHost.objects.get().failures == 4
    messages(1)
    record_deliveries([refused(delivery) for delivery in take()])
    assert not WebhookHost.objects.exists()  # in a row, it says


def test_what_was_under_way_when_it_opened_does_not_open_it_further():
    messages(8)
    deliveries = take()
    record_deliveries([down(delivery) for delivery in deliveries[:5]])
    until = WebhookHost.objects.get().open_until
    record_deliveries([down(delivery) for delivery in deliveries[5:]])
    assert WebhookHost.objects.get().open_until == until
    assert WebhookHost.objects.get().openings == 1


def test_a_host_with_nothing_to_try_it_with_may_fail_once():
    rows = messages(5)
    record_deliveries([down(delivery, hopeless=True) for delivery in take()])
    assert {again(row).status for row in rows} == {"failed"}
    age(MINUTE)
    assert take() == []
    assert next_delivery_in() is None  # nobody looks again and again
    messages(2)
    deliveries = take()
    assert len(deliveries) == 2
    record_deliveries([down(deliveries[0])])
    assert WebhookHost.objects.get().openings == 2


def test_the_breaker_can_be_turned_off(settings: Any):
    settings.JOBS_WEBHOOK_BREAKER = 0
    messages(9)
    fail_all()
    age(MINUTE)
    assert len(take()) == 9


def test_held_messages_are_given_up_in_time():
    messages(5)
    fail_all()
    [held] = messages(1)
    take()
    WebhookDelivery.objects.filter(pk=held.pk).update(give_up_at=held.created_at)
    age(MINUTE)
    [probe] = take()
    record_deliveries([down(probe)])
    assert (again(held).status, again(held).last_error) == ("failed", TOO_LATE)


def test_a_host_whose_every_message_is_hopeless_does_not_block_the_rest():
    old = messages(3)
    fail_all()
    age(DAY + 1)
    new = message()
    taken = [delivery.id for delivery in take(limit=1)] + [delivery.id for delivery in take(limit=1)]
    assert new.pk in taken
    assert {again(row).status for row in old} == {"failed"}


def test_send_again_sends_the_same_message_anew():
    row = message()
    record_deliveries([refused(*take(), hopeless=True)])
    assert send_again([row.pk]) == [row.pk]
    assert (again(row).status, again(row).tries, again(row).finished_at) == ("pending", 0, None)
    [delivery] = take()
    assert delivery.message_id == row.message_id
    assert send_again([row.pk]) == []  # it is being sent
    record_deliveries([good(delivery)])
    assert [t.status for t in again(row).history.all()] == [404, 200]


def test_send_again_does_not_wait_for_the_breaker():
    rows = messages(5)
    fail_all()
    assert send_again([rows[3].pk]) == [rows[3].pk]
    [probe] = take()
    assert probe.id == rows[3].pk


def test_an_old_message_that_is_sent_again_is_not_given_up_at_once():
    row = message()
    age(DAY + 1)
    take()
    send_again([row.pk])
    assert [delivery.id for delivery in take()] == [row.pk]


def test_whoever_delivers_knows_when_to_look_by_one_statement():
    with CaptureQueriesContext(connection) as caught:
        assert next_delivery_in() is None
    assert len(caught) == 1
    row = message()
    assert next_delivery_in() == 0
    record_deliveries([refused(*take())])
    assert 3 < (next_delivery_in() or 0) <= 15
    send_again([row.pk])
    record_deliveries([good(*take())])
    assert next_delivery_in() is None


def test_a_result_that_is_too_large_is_left_out(settings: Any):
    settings.JOBS_WEBHOOK_MAX_RESULT = 5
    message()
    [delivery] = take()
    assert b'"result":null,"result_left_out":true' in delivery.body
