"""However many look at the same moment: each tick becomes one job, and a declaration one row."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction

from jobs.handlers.periodic import Declaration
from jobs.lifecycle.periodic import tick as ticking
from jobs.lifecycle.periodic.edit import edit
from jobs.lifecycle.periodic.rows import locked
from jobs.lifecycle.periodic.sync import sync
from jobs.lifecycle.periodic.tick import tick_once
from jobs.models import Job, PeriodicJob
from tests.concurrency.threads import Running, together
from tests.factories import make_due, make_periodic, ticks_of

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("mode", ["one", "all"])
def test_of_many_that_see_a_tick_one_enqueues_it(mode):
    names = [f"nightly-{number}" for number in range(5)]
    rows = [make_periodic(name, catch_up=mode) for name in names]
    for row in rows:
        make_due(row, since=timedelta(hours=2))
    results = together([tick_once] * 6)
    of_each = 3 if mode == "all" else 1
    assert sum(len(result.enqueued) for result in results) == 5 * of_each
    assert Job.objects.count() == 5 * of_each
    for row in rows:
        assert ticks_of(row).count("enqueued") == of_each


def test_without_its_lock_the_dedupe_key_still_keeps_a_tick_from_being_enqueued_twice(monkeypatch):
    make_due(make_periodic())
    unlocked = PeriodicJob.objects.all()
    monkeypatch.setattr(type(unlocked), "select_for_update", lambda self, **options: self)
    together([partial(ticking.tick_row, "nightly")] * 6)
    assert Job.objects.count() == 1


def test_one_that_somebody_works_on_is_left_to_them_and_waits_for_nobody():
    make_due(make_periodic())
    with transaction.atomic():
        locked("nightly")
        result = Running(tick_once).result()
    assert result.enqueued == []
    assert result.next_in is not None
    assert result.next_in <= 0
    assert len(tick_once().enqueued) == 1


def test_an_operator_who_turns_it_off_and_a_tick_come_one_after_the_other():
    for _ in range(5):
        PeriodicJob.objects.all().delete()
        Job.objects.all().delete()
        row = make_periodic()
        make_due(row)
        both: list[Callable[[], object]] = [tick_once, partial(edit, "nightly", enabled=False)]
        together(both)
        row.refresh_from_db()
        assert (row.enabled, row.next_at) == (False, None)
        assert Job.objects.count() == ticks_of(row).count("enqueued")


def test_workers_that_start_at_once_make_one_row():
    declared = [Declaration(f"nightly-{number}", "test.noop", "@daily") for number in range(3)]
    together([partial(sync, declared, ["test.noop"])] * 6)
    assert [row.name for row in PeriodicJob.objects.order_by("name")] == [each.name for each in declared]
    assert all(row.next_at and row.declared for row in PeriodicJob.objects.all())
