"""Statements that PostgreSQL keeps: called by name from their third use on, found again when they are gone."""

import re

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import complete
from jobs.lifecycle.sql import kept
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.together import run_together
from jobs.lock_waits import lock_waits_limited
from jobs.models import Job, Worker
from jobs.states import Status
from tests.concurrency.threads import scalar
from tests.factories import make_worker

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
ANSWER = Bound("SELECT %s::int + 1, '100 %%'", [41], ageless=True)
NUMBER_KEPT = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'jobyard_%%'"


@pytest.fixture(autouse=True)
def _new_connection():
    connection.close()


def sent_by(call) -> list[str]:
    with CaptureQueriesContext(connection) as said:
        call()
    return [query["sql"] for query in said.captured_queries]


def ask() -> None:
    assert run_together([ANSWER, ANSWER])[1].rows == [(42, "100 %")]


def run_jobs(worker: Worker, number: int) -> None:
    """As a worker does."""
    with lock_waits_limited():
        for _ in range(number):
            job_id = enqueue("test.noop", allow_unknown=True).job_id
            complete(claim(worker)[0].claim)
            assert Job.objects.get(pk=job_id).status == Status.COMPLETED


def test_what_is_used_often_is_kept_and_called_by_name():
    ask()
    assert "SELECT" in sent_by(ask)[-1]  # its fourth use keeps it,
    assert sent_by(ask) == ["EXECUTE jobyard_1(41); -- and\nEXECUTE jobyard_1(41)"]
    assert scalar(NUMBER_KEPT) == 1


def test_a_plan_that_could_grow_old_is_kept_in_a_workers_transactions_alone():
    looks = Bound("SELECT count(*) FROM jobs_job WHERE id = ANY(%s)", ["{1}"])
    for _ in range(kept.WORTH_KEEPING + 1):
        with transaction.atomic():
            run_together([looks])
    assert scalar(NUMBER_KEPT) == 0
    for _ in range(kept.WORTH_KEEPING):
        with lock_waits_limited(), transaction.atomic():
            run_together([looks])
    assert scalar(NUMBER_KEPT) == 1


def test_a_plan_made_for_an_empty_table_goes_by_index_already():
    """It stays as it is when the table has grown to millions."""
    run_jobs(make_worker(), kept.WORTH_KEEPING)
    with lock_waits_limited(), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT name, cardinality(parameter_types) FROM pg_prepared_statements")
        plans = []
        for name, number in cursor.fetchall():
            cursor.execute(f"EXPLAIN (COSTS OFF) EXECUTE {name}" + f"({', '.join(['NULL'] * number)})" * bool(number))
            plans.append("\n".join(line for (line,) in cursor.fetchall()))
    assert [plan for plan in plans if re.search(r"(Seq|Bitmap Heap) Scan on jobs_job\b", plan)] == []
    [locking] = [plan for plan in plans if "LockRows" in plan and "job_ready" in plan]
    assert "Sort" not in locking


@pytest.mark.parametrize("lost", ["DEALLOCATE ALL", "ALTER TABLE jobs_job ALTER kind TYPE varchar(101)"])
def test_what_is_no_longer_there_is_sent_again(lost: str):
    worker = make_worker()
    try:
        run_jobs(worker, kept.WORTH_KEEPING)
        assert scalar(NUMBER_KEPT) > 5
        with connection.cursor() as cursor:
            cursor.execute(lost)
        run_jobs(worker, 1)
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE jobs_job ALTER kind TYPE varchar(100)")


def test_a_string_that_fails_keeps_no_name():
    fails = Bound("SELECT 1 / %s::int", [1], ageless=True)
    for _ in range(kept.WORTH_KEEPING - 1):
        run_together([fails])
    with pytest.raises(DatabaseError, match="division by zero"):
        run_together([fails._replace(parameters=[0])])  # by now it was kept, and we do not know
    assert run_together([fails])[0].rows == [(1,)]


def test_who_told_django_of_a_pooler_keeps_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)
    for _ in range(kept.WORTH_KEEPING):
        ask()
    assert scalar(NUMBER_KEPT) == 0
