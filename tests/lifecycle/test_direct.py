"""Kept statements that are called past all cursors: when that is done, and when not."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from uuid import UUID

import pytest
from django.core.exceptions import SynchronousOnlyOperation
from django.db import DEFAULT_DB_ALIAS, DatabaseError, OperationalError, connection, connections, transaction
from django.db.transaction import TransactionManagementError
from django.test.utils import CaptureQueriesContext

from jobs.db import is_transient
from jobs.handlers.base import Outcome
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import finish
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.sql import direct, kept
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.together import run_as_transaction, run_together
from jobs.lock_waits import lock_waits_limited
from jobs.models import Job
from tests.concurrency.threads import scalar
from tests.factories import make_worker

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
            assert run_as_transaction([shown])[0].rows == [("1s", "force_generic_plan")]
    assert scalar("SHOW lock_timeout") == "0"


def test_what_is_gone_is_kept_anew():
    keep(TEXT)
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    with pytest.raises(DatabaseError, match="does not exist"):
        direct.call([TEXT])
    assert run_together([TEXT])[0].rows == [("a", "100 %")]


@pytest.mark.parametrize("before", [[], [TEXT]], ids=["alone", "with another"])
def test_an_interrupted_call_leaves_no_answer_to_the_next(before):
    sleeps = Bound("SELECT pg_sleep(%s::float8), 'slept'", ["0"], ageless=True)
    keep(sleeps, TEXT)
    session = this_session()

    class Interrupted(BaseException):
        pass

    def interrupt(number, frame):
        raise Interrupted

    usual = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Interrupted):
            direct.call([*before, sleeps._replace(parameters=["30"])])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
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


@pytest.mark.parametrize("size", [300_000, 900_000])
def test_what_is_larger_than_a_socket_takes_at_once_gets_through(size):
    text = "x" * size
    for _ in range(kept.WORTH_KEEPING + 2):
        job_id = enqueue("test.noop", {"text": text}).job_id
    assert Job.objects.get(pk=job_id).payload["text"] == text
    echo = Bound("SELECT repeat(%s::text, 3)", [text], ageless=True)
    keep(echo)
    assert direct.call([echo, echo]) == [(1, [(3 * text,)])] * 2


def test_large_results_get_through():
    worker = make_worker()
    with lock_waits_limited():
        for _ in range(kept.WORTH_KEEPING + 2):
            jobs = enqueue_many(NewJob("test.noop") for _ in range(4)).created
            claims = [job.claim for job in claim(worker, limit=4)]
            finish([Outcome.completed(each, "y" * 900_000) for each in claims])
    assert Job.objects.get(pk=jobs[0]).result == "y" * 900_000


@pytest.fixture
def refused_at_commit() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN RAISE EXCEPTION ''too late'' USING ERRCODE = ''40001''; END'"
        )
        cursor.execute(
            "CREATE CONSTRAINT TRIGGER refused AFTER INSERT ON jobs_queue "
            "DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER refused ON jobs_queue")
        cursor.execute("DROP FUNCTION refuse")


@pytest.mark.usefixtures("refused_at_commit")
@pytest.mark.parametrize("before", [[], [TEXT]], ids=["alone", "with another"])
def test_an_error_of_the_commit_is_told_and_the_next_call_gets_its_own_answer(before):
    keep(NEW_QUEUE, TEXT)
    with pytest.raises(OperationalError, match="too late") as refused:
        direct.call([*before, NEW_QUEUE])
    assert is_transient(refused.value)
    assert direct.call([TEXT]) == [(1, [("a", "100 %")])]
    assert scalar("SELECT count(*) FROM jobs_queue") == 0


def test_a_connection_is_looked_after_as_by_a_cursor(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(connection.settings_dict, "CONN_HEALTH_CHECKS", True)
    keep(TEXT)
    connection.close_if_unusable_or_obsolete()  # as at the end of a request
    with closing(connections.create_connection(DEFAULT_DB_ALIAS)) as other, other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [this_session()])
    assert run_together([TEXT])[0].rows == [("a", "100 %")]


def test_who_forbids_statements_forbids_these(django_db_blocker):
    keep(TEXT)
    with django_db_blocker.block(), pytest.raises(RuntimeError, match="Database access not allowed"):
        direct.call([TEXT])
    wrapper = connections[DEFAULT_DB_ALIAS]
    wrapper.cursor = None  # type: ignore[method-assign, assignment]  # as SimpleTestCase does
    try:
        assert direct.call([TEXT]) is None
    finally:
        del wrapper.cursor


def test_a_pipeline_of_somebody_else_is_left_alone():
    keep(TEXT)
    with connection.connection.pipeline():
        answer = connection.connection.execute("SELECT 7")
        assert direct.call([TEXT]) is None
        assert answer.fetchone() == (7,)


def test_a_nul_is_refused_and_not_cut_off():
    keep(TEXT)
    assert direct.call([TEXT._replace(parameters=["a\0b"])]) is None
    with pytest.raises((DatabaseError, ValueError), match="NUL"):
        run_together([TEXT._replace(parameters=["a\0b"])])


def test_many_that_fail_in_a_transaction_leave_it_whole():
    for _ in range(kept.WORTH_KEEPING):
        enqueue_many([NewJob("test.noop")])
    with transaction.atomic():
        enqueue("test.noop")
        with connection.cursor() as cursor:
            cursor.execute("DEALLOCATE ALL")
        with pytest.raises(DatabaseError):
            enqueue_many([NewJob("test.noop")])
        enqueue("test.noop")
    assert Job.objects.count() == kept.WORTH_KEEPING + 2


async def refused_in_an_event_loop() -> None:
    direct.call([TEXT])


def test_it_refuses_to_block_an_event_loop(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("DJANGO_ALLOW_ASYNC_UNSAFE", raising=False)

    with pytest.raises(SynchronousOnlyOperation):
        asyncio.run(refused_in_an_event_loop())
