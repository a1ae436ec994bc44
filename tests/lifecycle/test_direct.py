"""Kept statements that are called past all cursors: when that is done, and when not."""

import asyncio
import signal
from contextlib import closing
from datetime import timedelta
from uuid import UUID

import pytest
from django.core.exceptions import SynchronousOnlyOperation
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connection, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.sql import direct, kept
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.together import run_as_transaction, run_together
from jobs.lock_waits import lock_waits_limited
from jobs.models import Job
from tests.concurrency.threads import scalar

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]
TEXT = Bound("SELECT %s::text, '100 %%'", ["a"], ageless=True)
DIVISION = Bound("SELECT 1 / %s::int", [1], ageless=True)
NEW_QUEUE = Bound("INSERT INTO jobs_queue (name, paused, reason) VALUES (%s, false, '')", ["q"], ageless=True)


@pytest.fixture(autouse=True)
def _new_connection():
    connection.close()


def this_session() -> int:
    return int(connection.connection.info.backend_pid)


def terminate(session: int) -> None:
    assert scalar(f"SELECT pg_terminate_backend({session}, 5000)")


def keep(*statements: Bound) -> None:
    for _ in range(kept.WORTH_KEEPING):
        with transaction.atomic():
            run_together(statements)
            transaction.set_rollback(True)


def test_what_is_kept_is_called_and_what_is_not_goes_the_usual_way():
    assert direct.call([TEXT]) is None
    keep(TEXT)
    assert direct.call([TEXT]) == [(1, [("a", "100 %")])]
    assert direct.call([TEXT, DIVISION]) is None
    keep(DIVISION)
    assert direct.call([TEXT, DIVISION]) == [(1, [("a", "100 %")]), (1, [(1,)])]


@pytest.mark.parametrize(
    ("cast", "value", "read"),
    [
        ("text", "é'\\\"%s", "é'\\\"%s"),
        ("bigint", 2**63 - 1, 2**63 - 1),
        ("uuid", UUID(int=7), UUID(int=7)),
        ("interval", timedelta(days=-3, microseconds=5), timedelta(days=-3, microseconds=5)),
        ("text[]", ["a", 'b"c', "d\\e", "{,}", "", "NULL"], ["a", 'b"c', "d\\e", "{,}", "", "NULL"]),
        ("uuid[]", [UUID(int=7)], [UUID(int=7)]),
        ("bigint[]", [], []),
        ("text", None, None),
    ],
)
def test_values_arrive_as_they_are(cast, value, read):
    asked = Bound(f"SELECT %s::{cast}", [value], ageless=True)
    keep(asked)
    assert direct.call([asked]) == [(1, [(read,)])]


@pytest.mark.parametrize("value", [b"bytes", {"a": 1}, [None]])
def test_other_values_go_the_usual_way(value):
    keep(TEXT)
    assert direct.call([TEXT._replace(parameters=[value])]) is None


def test_the_number_of_rows_written_is_told():
    keep(NEW_QUEUE)
    assert direct.call([NEW_QUEUE]) == [(1, [])]


def test_several_are_one_transaction():
    keep(NEW_QUEUE, DIVISION)
    with pytest.raises(DatabaseError, match="division by zero"):
        direct.call([NEW_QUEUE, DIVISION._replace(parameters=[0]), TEXT._replace(sql=DIVISION.sql, parameters=[1])])
    assert scalar("SELECT count(*) FROM jobs_queue") == 0
    assert direct.call([DIVISION]) == [(1, [(1,)])]  # the connection is as good as before


def test_a_transaction_that_has_to_begin_begins():
    for _ in range(kept.WORTH_KEEPING):
        enqueue("test.noop")
    with transaction.atomic():
        enqueue("test.noop")
        enqueue("test.noop")
        transaction.set_rollback(True)
    assert Job.objects.count() == kept.WORTH_KEEPING


def test_in_a_transaction_that_is_broken_nothing_is_called():
    keep(TEXT)
    with transaction.atomic():
        with pytest.raises(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        assert direct.call([TEXT]) is None
        transaction.set_rollback(True)
    with transaction.atomic():
        run_together([TEXT])
        connection.needs_rollback = True
        with pytest.raises(TransactionManagementError):
            direct.call([TEXT])


def test_who_looks_at_statements_sees_them():
    keep(TEXT)
    with CaptureQueriesContext(connection) as seen:
        run_together([TEXT])
    assert [query["sql"] for query in seen.captured_queries] == ["EXECUTE jobyard_1('a')"]
    wrapped = []

    def wrapper(execute, sql, params, many, context):
        wrapped.append(sql)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(wrapper):
        run_together([TEXT])
    assert len(wrapped) == 1


def test_a_plan_that_could_grow_old_is_called_in_a_workers_transactions_alone():
    looks = Bound("SELECT count(*) FROM jobs_job WHERE id = ANY(%s)", ["{1}"])
    with lock_waits_limited():
        for _ in range(kept.WORTH_KEEPING):
            run_as_transaction([looks])
        assert direct.call([looks], begins=True) == [(1, [(0,)])]
    assert direct.call([looks]) is None


def test_how_a_worker_begins_is_in_force_for_its_statement_and_no_longer():
    shown = Bound("SELECT current_setting('lock_timeout'), current_setting('plan_cache_mode')", [])
    with lock_waits_limited():
        for _ in range(kept.WORTH_KEEPING + 1):
            assert run_as_transaction([shown])[0].rows == [("5s", "force_generic_plan")]
    assert scalar("SHOW lock_timeout") == "0"


def test_what_is_gone_is_kept_anew():
    keep(TEXT)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    with pytest.raises(DatabaseError, match="does not exist"):
        direct.call([TEXT])
    assert run_together([TEXT])[0].rows == [("a", "100 %")]


def test_an_interrupted_call_leaves_no_answer_to_the_next():
    sleeps = Bound("SELECT pg_sleep(%s::float8), 'slept'", ["0"], ageless=True)
    keep(sleeps, TEXT)
    session = this_session()

    class Interrupted(BaseException):
        pass

    def interrupt(number, frame):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupted):
            direct.call([sleeps._replace(parameters=["30"])])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert run_together([TEXT])[0].rows == [("a", "100 %")]
    terminate(session)  # it sleeps on


def test_a_lost_connection_is_an_error_as_any_other_and_the_next_call_gets_a_new_one():
    keep(TEXT)
    session = this_session()
    with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [session])
    with pytest.raises(DatabaseError):
        direct.call([TEXT])
    connection.close_if_unusable_or_obsolete()
    assert run_together([TEXT])[0].rows == [("a", "100 %")]
    assert this_session() != session


async def refused_in_an_event_loop() -> None:
    direct.call([TEXT])


def test_it_refuses_to_block_an_event_loop(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)

    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(refused_in_an_event_loop())
