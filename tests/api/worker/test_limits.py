"""How often a caller is answered: by key and by address, over all web processes, and cheaply."""

import threading

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.api.errors import ApiError
from jobs.api.worker.budgets import Budgets, budgets
from jobs.lifecycle.call_budget import take
from jobs.lifecycle.reap import tidy
from jobs.models import CallBudget
from jobs.wire.names import KEY_HEADER
from tests.api.calls import error_of, post_json
from tests.api.worker.calls import WORKER, machine
from tests.factories import shift

pytestmark = pytest.mark.django_db


def spent(process: Budgets, calls: int, limit: int = 40) -> int:
    """How many of so many calls one web process answers."""
    answered = 0
    for _ in range(calls):
        try:
            process.spend("key 1", limit)
        except ApiError:
            continue
        answered += 1
    return answered


def test_a_key_and_an_address_are_answered_so_often_a_minute(settings):
    box, other = machine("box"), machine("other")
    settings.JOBS_WORKER_CALLS_PER_KEY = 3
    budgets.forget()
    CallBudget.objects.all().delete()
    assert [box.post("heartbeat").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
    refused = box.post("heartbeat")
    assert error_of(refused, 429)[0] == "too_many"
    assert 1 <= int(refused["Retry-After"]) <= 61
    assert other.post("heartbeat").status_code == 200
    settings.JOBS_WORKER_CALLS_PER_ADDRESS = 2
    budgets.forget()
    CallBudget.objects.all().delete()
    assert [other.post("heartbeat").status_code for _ in range(3)] == [200, 200, 429]


def test_an_address_that_shows_wrong_keys_is_sent_away_and_right_ones_behind_it_are_not(settings):
    settings.JOBS_WORKER_WRONG_KEYS = 3
    box = machine()
    wrong = {KEY_HEADER: "worker_00000000_" + "a" * 43}
    codes = [post_json(Client(), f"{WORKER}/heartbeat", headers=wrong).status_code for _ in range(5)]
    assert codes == [401, 401, 401, 429, 429]
    assert box.post("heartbeat").status_code == 200
    assert post_json(Client(), f"{WORKER}/heartbeat", headers=wrong).status_code == 429
    elsewhere = post_json(Client(REMOTE_ADDR="198.51.100.7"), f"{WORKER}/heartbeat", headers=wrong)
    assert elsewhere.status_code == 401


def test_several_processes_together_answer_no_more_than_the_limit():
    processes = [Budgets() for _ in range(4)]
    answered = sum(spent(process, 30) for process in processes)
    assert answered == 40
    shift(CallBudget, 61)
    assert spent(Budgets(), 30) == 30


def test_a_portion_is_asked_for_once_and_then_spent_without_the_database():
    process = Budgets()
    process.spend("key 1", 1000)
    with CaptureQueriesContext(connection) as asked:
        assert spent(process, 49, 1000) == 49
    assert len(asked) == 0
    process.spend("key 1", 0)


def test_what_is_over_is_forgotten():
    take("key 1", 10, 1)
    shift(CallBudget, 3601)
    tidy()
    assert not CallBudget.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_that_take_at_once_get_no_more_than_there_is():
    begin = threading.Barrier(4)
    granted: list[int] = []

    def taking() -> None:
        try:
            begin.wait(30)
            granted.extend(take("key 1", 10, 1)[0] for _ in range(5))
        finally:
            connection.close()

    threads = [threading.Thread(target=taking) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(granted) == 10
