"""Races around messages to webhooks: two that take, a job that is deleted meanwhile, a host that opens as it closes."""

from functools import partial

import pytest
from django.db import transaction

from jobs.lifecycle import breaker
from jobs.lifecycle.clear import clear
from jobs.lifecycle.finish import complete
from jobs.lifecycle.record_deliveries import record_deliveries
from jobs.lifecycle.send_again import send_again
from jobs.lifecycle.take_deliveries import take_deliveries
from jobs.models import JobEvent, WebhookDelivery, WebhookHost
from jobs.selectors.clock import database_now
from jobs.webhooks.message import Delivery, Sent
from tests.concurrency.threads import Running, together
from tests.factories import claimed, make_job, make_worker

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
HOST = "hooks.example.org:443"


def messages(number: int) -> list[WebhookDelivery]:
    for _ in range(number):
        complete(claimed(make_worker(), make_job(webhook_url="https://hooks.example.org/")))
    return list(WebhookDelivery.objects.order_by("id"))


def take(limit: int = 5) -> list[Delivery]:
    return take_deliveries(limit, lambda host: 100)


def good(delivery: Delivery) -> Sent:
    return Sent(delivery, True, 200)


def test_two_that_take_at_once_take_different_ones():
    messages(12)
    taken = together([take] * 4)
    ids = [delivery.id for part in taken for delivery in part]
    assert len(ids) == len(set(ids)) >= 5


def test_one_of_many_probes():
    messages(4)
    WebhookHost.objects.create(host=HOST, failures=5, openings=1, open_until=database_now())
    assert sum(len(part) for part in together([take] * 4)) == 1


def test_a_job_that_is_deleted_while_its_message_is_recorded_leaves_no_history_behind():
    [row] = messages(1)
    [delivery] = take()
    with transaction.atomic():
        clear([row.job_id])
        recording = Running(partial(record_deliveries, [good(delivery)]))
        recording.wait_until_blocked()
    recording.result()
    assert list(JobEvent.objects.filter(job_id=row.job_id).values_list("name", flat=True)) == ["deleted"]
    assert WebhookDelivery.objects.get().status == "delivered"


def test_what_is_held_as_its_host_comes_back_is_not_forgotten():
    """Held first, then let go; or let go first, and then there is no reason to hold."""
    messages(3)
    WebhookHost.objects.create(host=HOST, failures=5, openings=1, open_until=database_now().replace(year=2100))
    with transaction.atomic():
        breaker.close(HOST)
        taking = Running(take)
        taking.wait_until_blocked()
    assert len(taking.result()) + WebhookDelivery.objects.due().count() == 3
    assert not WebhookDelivery.objects.held(HOST).exists()


def test_send_again_and_a_host_that_comes_back_do_not_wait_in_a_circle():
    rows = messages(3)
    WebhookHost.objects.create(host=HOST, failures=5, openings=1, open_until=database_now().replace(year=2100))
    assert take() == []
    with transaction.atomic():
        breaker.close(HOST)
        again = Running(partial(send_again, [row.pk for row in rows]))
        again.wait_until_blocked()
    assert len(again.result()) == 3
    assert len(take()) == 3
