"""What a handler leaves of the connection does not keep its outcome from being told."""

import pytest
from django.core.management import call_command
from django.db import InterfaceError, connection, transaction

from jobs import enqueue
from jobs.handlers.registry import Kind, registry
from jobs.models import Job
from jobs.states import Status
from jobs.worker.connections import is_unclean
from jobs.worker.database_client import reconnecting
from jobs.worker.queue_client import QueueUnavailable

pytestmark = pytest.mark.django_db(transaction=True)


def autocommit_off(ctx):
    transaction.set_autocommit(False)
    Job.objects.count()


def atomic_entered(ctx):
    transaction.atomic().__enter__()
    Job.objects.count()


def raw_begin(ctx):
    connection.cursor().execute("BEGIN")


@pytest.mark.parametrize("handler", [autocommit_off, atomic_entered, raw_begin])
def test_a_transaction_left_open_is_not_built_upon(handler):
    registry.add(Kind("test.leaves", handler))
    try:
        job_id = enqueue("test.leaves").job_id
        call_command("runworker", until_empty=True, name="tidy")
    finally:
        registry.remove("test.leaves")
    connection.close()
    assert Job.objects.get(pk=job_id).status == Status.COMPLETED


@pytest.mark.postgres
def test_a_statement_cut_off_by_the_time_limit_leaves_a_worker_that_goes_on():
    def slow(ctx):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(20)")

    registry.add(Kind("test.slow", slow, max_attempts=1, max_runtime=0.3))
    try:
        slow_id, next_id = enqueue("test.slow").job_id, enqueue("test.noop").job_id
        call_command("runworker", until_empty=True, name="tidy")
    finally:
        registry.remove("test.slow")
    assert Job.objects.get(pk=slow_id).last_error == "Timeout after 0.3 s"
    assert Job.objects.get(pk=next_id).status == Status.COMPLETED


def test_a_connection_that_was_closed_under_a_call_is_an_outage_and_the_next_call_gets_a_new_one():
    @reconnecting
    def count(broken: bool) -> int:
        if broken:
            connection.ensure_connection()
            connection.connection.close()
            raise InterfaceError("connection already closed")
        return Job.objects.count()

    with pytest.raises(QueueUnavailable, match="already closed"):
        count(broken=True)
    assert count(broken=False) == 0


class OfAnotherEngine:
    """A connection whose driver is not one of ours, or is broken."""

    vendor, alias, autocommit, in_atomic_block = "oracle", "elsewhere", True, False

    def __init__(self, connection: object) -> None:
        self.connection = connection


class Broken:
    @property
    def in_transaction(self) -> bool:
        raise ValueError("whatever a driver may raise")


@pytest.mark.parametrize(("driver", "unclean"), [(object(), False), (Broken(), True)])
def test_a_connection_to_another_engine_is_as_clean_as_django_says_and_no_error_of_it_costs_an_outcome(driver, unclean):
    assert is_unclean(OfAnotherEngine(driver)) is unclean  # type: ignore[arg-type]  # what it looks at
