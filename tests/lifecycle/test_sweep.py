"""A sweep: batches shrink when the database runs out of patience, grow again, and no row holds up the next."""

import threading
from collections.abc import Sequence
from functools import partial

import pytest
from django.db import OperationalError, connection, transaction

from jobs.lifecycle import sweep
from jobs.lifecycle.prune import prune_once
from jobs.lifecycle.sweep import Sweep
from jobs.models import Job
from jobs.states import Status
from tests.concurrency.threads import Running, scalar
from tests.factories import age, job_in, make_job

DAY = 86_400


@pytest.fixture
def jobs(transactional_db: None) -> list[int]:
    return [make_job(queue=f"q{number}").pk for number in range(8)]


class Table:
    """What was dealt with, in which batches; the database is asked to take a second for each row over `bears`."""

    def __init__(self, bears: int = 100, cursed: Sequence[int] = ()) -> None:
        self.bears, self.cursed = bears, cursed
        self.batches: list[int] = []

    def deal(self, ids: Sequence[int]) -> int:
        scalar("SELECT pg_sleep(%s)", 5.0 if len(ids) > self.bears or set(ids) & set(self.cursed) else 0.0)
        self.batches.append(len(ids))
        return len(ids)


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "LIMITS", "SET LOCAL statement_timeout = '40ms'")


def swept(table: Table, monkeypatch: pytest.MonkeyPatch, most: int = 8) -> tuple[int, Sweep]:
    monkeypatch.setattr(sweep, "MOST", most)
    run = Sweep(lambda: True)
    return run.run(Job.objects.all(), "enqueued_at", table.deal), run


@pytest.mark.postgres
@pytest.mark.usefixtures("_impatient", "jobs")
def test_a_batch_that_meets_a_timeout_is_halved_until_it_passes_and_grows_again(monkeypatch):
    done, run = swept(table := Table(bears=3), monkeypatch)
    assert (done, run.left) == (8, 0)
    assert table.batches == [2, 2, 2, 2]  # 8 and 4 were too many, and so was 4 each time it was tried again


@pytest.mark.postgres
@pytest.mark.usefixtures("_impatient")
def test_one_row_that_never_passes_is_passed_by(jobs, monkeypatch):
    done, run = swept(table := Table(cursed=jobs[3:4]), monkeypatch)
    assert (done, run.left) == (7, 1)
    assert max(table.batches) == 2  # growing again after it


@pytest.mark.postgres
@pytest.mark.usefixtures("_impatient")
def test_where_nothing_passes_it_gives_up_with_the_databases_own_words(jobs, monkeypatch):
    with pytest.raises(OperationalError, match="statement timeout"):
        swept(Table(cursed=jobs), monkeypatch)


def test_an_error_that_is_no_timeout_is_not_tried_again(jobs, monkeypatch):
    calls: list[int] = []

    def broken(ids: Sequence[int]) -> int:
        calls.append(len(ids))
        raise OperationalError("disk full")

    with pytest.raises(OperationalError, match="disk full"):
        Sweep(lambda: True).run(Job.objects.all(), "enqueued_at", broken)
    assert calls == [8]


def test_a_slow_batch_is_followed_by_a_smaller_one_and_a_quick_one_by_a_larger(monkeypatch):
    run = Sweep(lambda: True)
    sizes = []
    for seconds in (1.1, 1.1, 0.7, 0.1, 0.1, 0.1):
        run.adapt(seconds)
        sizes.append(run.size)
    assert sizes == [25, 12, 12, 24, 48, 50]


@pytest.mark.usefixtures("jobs")
def test_rows_of_the_same_moment_are_all_met_once(monkeypatch):
    moment = Job.objects.order_by("pk")[3].enqueued_at
    Job.objects.filter(pk__gt=Job.objects.order_by("pk")[2].pk).update(enqueued_at=moment)
    met: list[int] = []

    def deal(ids: Sequence[int]) -> int:
        met.extend(ids)
        return len(ids)

    monkeypatch.setattr(sweep, "MOST", 3)
    assert Sweep(lambda: True).run(Job.objects.all(), "enqueued_at", deal) == 8
    assert sorted(met) == sorted(set(met)) == list(Job.objects.order_by("pk").values_list("pk", flat=True))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_limits_are_the_transactions_own_and_stricter_ones_stay():
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '300ms'")
    try:
        with sweep.limited_transaction():
            assert (scalar("SHOW lock_timeout"), scalar("SHOW statement_timeout")) == ("300ms", "30s")
        assert scalar("SHOW statement_timeout") == "0"
        with transaction.atomic(), sweep.limited_transaction():
            assert scalar("SHOW statement_timeout") == "0"  # the caller's transaction, the caller's limits
    finally:
        connection.close()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("patience", ["1001ms", "90s", "5min", "2h", "1d"])
def test_limits_that_are_less_strict_are_not_ours_in_whatever_unit(patience):
    with connection.cursor() as cursor:
        cursor.execute(f"SET lock_timeout = '{patience}'")
    try:
        with sweep.limited_transaction():
            assert scalar("SHOW lock_timeout") == "1s"
    finally:
        connection.close()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_prune_waits_for_no_row_that_somebody_holds():
    held, free = job_in(Status.COMPLETED, queue="a"), job_in(Status.COMPLETED, queue="b")
    age(31 * DAY)
    locked, release = threading.Event(), threading.Event()
    holder = Running(partial(hold, held.pk, locked, release))
    try:
        assert locked.wait(20)
        result = prune_once()
    finally:
        release.set()
        holder.result()
    assert (result.marked_stale, result.left) == (1, 1)
    assert list(Job.objects.filter(stale_at__isnull=False)) == [free]


def hold(job_id: int, locked: threading.Event, release: threading.Event) -> None:
    with transaction.atomic():
        Job.objects.select_for_update().get(pk=job_id)
        locked.set()
        release.wait(20)
