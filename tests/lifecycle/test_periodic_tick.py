"""What is due becomes jobs: each tick once, missed ones as the mode says and never a flood, one at a time if asked."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from django.db import Error, InterfaceError, InternalError, OperationalError
from psycopg.errors import ReadOnlySqlTransaction

from jobs.conf import conf
from jobs.db import Now
from jobs.exceptions import PeriodicJobBusy
from jobs.handlers.base import Outcome
from jobs.handlers.registry import Kind, registry
from jobs.handlers.schedules import parse_schedule
from jobs.lifecycle import counts
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.periodic import tick as ticking
from jobs.lifecycle.periodic.catch_up import Plan, plan
from jobs.lifecycle.periodic.edit import edit, run_now
from jobs.lifecycle.periodic.tick import tick_once
from jobs.lifecycle.sql.together import run_together
from jobs.models import Job, PeriodicJob, PeriodicTick
from jobs.states import Bucket, CatchUp, Status
from tests.factories import claimed, make_due, make_periodic, ticks_of

HOUR, GRACE = timedelta(hours=1), timedelta(seconds=60)
HOURLY = parse_schedule("@hourly")


def at(hour: float) -> datetime:
    return datetime(2026, 11, 16, tzinfo=UTC) + hour * HOUR


@pytest.mark.parametrize(
    ("mode", "since", "now", "ticks", "missed_from"),
    [
        # On time, or a little late: whatever the mode.
        ("none", 3, 3.01, [3], None), ("one", 3, 3.01, [3], None), ("all", 3, 3.01, [3], None),
        # Once missed, long after.
        ("none", 3, 3.5, [], 3), ("one", 3, 3.5, [3], None), ("all", 3, 3.5, [3], None),
        # Several missed, and the last is on time.
        ("none", 3, 6.01, [6], 3), ("one", 3, 6.01, [6], 3), ("all", 3, 6.01, [3, 4, 5, 6], None),
        # All missed.
        ("none", 3, 6.5, [], 3), ("one", 3, 6.5, [6], 3), ("all", 3, 6.5, [3, 4, 5, 6], None),
        # More than the limit of five: the latest count.
        ("all", 3, 9.5, [5, 6, 7, 8, 9], 3), ("all", 5, 9.5, [5, 6, 7, 8, 9], None),
        # Nothing is due: not yet, or the times have changed under it.
        ("all", 3, 2.5, [], None), ("all", 3.2, 3.5, [], None),
    ],
)  # fmt: skip
def test_which_ticks_are_made_up_for(mode, since, now, ticks, missed_from):
    found = plan(HOURLY, at(since), at(now), CatchUp(mode), limit=5, grace=GRACE)
    assert found == Plan(tuple(at(tick) for tick in ticks), None if missed_from is None else at(missed_from))


def test_a_tick_becomes_one_job_and_the_next_one_is_planned():
    periodic = make_periodic(payload={"month": 5}, queue="slow", priority=7)
    tick = make_due(periodic)
    [job_id] = tick_once().enqueued
    job = Job.objects.get()
    assert (job.pk, job.kind, job.payload, job.queue, job.priority) == (job_id, "test.noop", {"month": 5}, "slow", 7)
    assert (job.subject, job.dedupe_key, job.unique_ever) == ("nightly", f"periodic nightly {tick.isoformat()}", True)
    periodic.refresh_from_db()
    assert (periodic.last_at, periodic.last_job_id, periodic.next_at) == (tick, job_id, tick + HOUR)
    assert tick_once().enqueued == []
    assert PeriodicTick.objects.get().tick_at == tick


def test_a_look_costs_one_query_and_says_when_to_look_again(django_assert_num_queries):
    with django_assert_num_queries(1):
        assert tick_once().next_in is None
    periodic = make_periodic()
    with django_assert_num_queries(1):
        wait = tick_once().next_in
    assert wait is not None
    assert 0 < wait <= 3600
    make_periodic("sooner", "every 1s"), make_periodic("off", "every 1s", enabled=False)
    sooner = tick_once().next_in
    assert sooner is not None
    assert sooner <= 1
    assert ticks_of(periodic) == []


@pytest.mark.parametrize(
    ("mode", "jobs", "outcomes"),
    [("none", [], ["missed"]), ("one", [1], ["missed", "enqueued"]), ("all", [5], ["missed", *["enqueued"] * 5])],
)
def test_after_an_absence_there_is_no_flood(mode, jobs, outcomes, settings, caplog):
    settings.JOBS_PERIODIC_CATCH_UP_LIMIT, settings.JOBS_PERIODIC_GRACE = 5, 0
    periodic = make_periodic(catch_up=mode)
    first = make_due(periodic, since=timedelta(days=30))
    with caplog.at_level(logging.INFO, "jobs.periodic"):
        result = tick_once()
    assert [len(result.enqueued)] == (jobs or [0])
    assert result.missed == ["nightly"]
    assert ticks_of(periodic) == outcomes
    assert f"periodic tick missed name=nightly tick={first.isoformat()}" in caplog.text
    assert caplog.records[0].levelname == ("INFO" if mode == "none" else "WARNING"), "it was asked for"
    assert tick_once().enqueued == []


def test_the_setting_counts_where_the_job_says_nothing(settings):
    settings.JOBS_PERIODIC_CATCH_UP = "all"
    make_due(make_periodic(), since=3 * HOUR)
    assert len(tick_once().enqueued) == 4


def test_whoever_comes_late_finds_nothing_due():
    """Another has dealt with it meanwhile, or somebody turned it off."""
    make_periodic("later"), make_periodic("off", enabled=False)
    assert [ticking.tick_row(name) for name in ("later", "off", "removed")] == [[], [], []]


def test_off_means_no_tick_and_on_again_makes_up_for_none(settings):
    settings.JOBS_PERIODIC_CATCH_UP = "all"
    periodic = make_periodic()
    make_due(periodic, since=3 * HOUR)
    edit("nightly", enabled=False)
    assert tick_once().enqueued == []
    edit("nightly", enabled=True)
    result = tick_once()
    assert result.enqueued == []
    assert result.next_in


def test_an_earlier_job_that_has_not_ended_skips_the_tick():
    periodic = make_periodic(overlap=False)
    first = run_now("nightly")
    PeriodicTick.objects.all().delete()  # as if a hundred ticks had been skipped since
    make_due(periodic)
    result = tick_once()
    assert (result.enqueued, result.skipped) == ([], ["nightly"])
    assert PeriodicTick.objects.get().reason == f"job {first} had not ended"
    finish_one(Outcome.completed(claimed(job=Job.objects.get())))
    make_due(periodic)
    assert len(tick_once().enqueued) == 1


def test_a_job_that_was_retried_skips_the_tick_as_well():
    periodic = make_periodic(overlap=False)
    old = run_now("nightly")
    Job.objects.update(status=Status.CANCELLED, finished_at=Now())
    run_now("nightly")
    Job.objects.exclude(pk=old).delete()
    Job.objects.filter(pk=old).update(status=Status.PENDING, finished_at=None)
    make_due(periodic)
    assert tick_once().skipped == ["nightly"]
    # What was done by hand here, the counters have not seen.
    run_together(list(counts.noted({("default", Bucket.PENDING): -1})))


def test_what_may_overlap_does():
    make_due(make_periodic(catch_up="all"), since=HOUR)
    assert len(tick_once().enqueued) == 2
    assert Job.objects.filter(status=Status.PENDING).count() == 2


def test_run_now_is_beside_the_schedule_and_counts_as_the_last_job():
    periodic = make_periodic(enabled=False, payload={"month": 5})
    job_id = run_now("nightly")
    assert Job.objects.get(pk=job_id).payload == {"month": 5}
    periodic.refresh_from_db()
    assert (periodic.last_job_id, periodic.next_at) == (job_id, None)
    assert ticks_of(periodic) == ["by_hand"]
    assert run_now("nightly") != job_id


def test_run_now_keeps_to_one_at_a_time():
    make_periodic(overlap=False)
    first = run_now("nightly")
    with pytest.raises(PeriodicJobBusy, match=f"nightly has one job at a time, and job {first} has not ended"):
        run_now("nightly")
    assert Job.objects.count() == 1


def test_a_kind_without_a_handler_here_is_left_to_others(kind: Kind):
    make_due(make_periodic(kind=kind.name))
    registry.remove(kind.name)
    result = tick_once()
    assert (result.enqueued, result.next_in) == ([], None)
    registry.add(kind)
    assert len(tick_once().enqueued) == 1


def test_what_can_become_no_job_is_told_and_tried_again_next_time(settings):
    periodic = make_periodic(payload={"text": "x" * 100})
    tick = make_due(periodic)
    settings.JOBS_MAX_PAYLOAD = 50
    assert tick_once().refused == ["nightly"]
    periodic.refresh_from_db()
    assert "JOBS_MAX_PAYLOAD allows 50" in periodic.problem
    assert periodic.next_at == tick + HOUR
    settings.JOBS_MAX_PAYLOAD = 500
    make_due(periodic, since=HOUR)
    assert len(tick_once().enqueued) == 1
    periodic.refresh_from_db()
    assert periodic.problem == ""


def test_a_time_zone_that_is_no_more_rests_it_until_it_is_edited():
    periodic = make_periodic()
    make_due(periodic)
    PeriodicJob.objects.update(timezone="Atlantis/Capital")
    assert tick_once().refused == ["nightly"]
    periodic.refresh_from_db()
    assert periodic.next_at is None
    assert "There is no time zone 'Atlantis/Capital'" in periodic.problem
    edit("nightly", timezone="Europe/Berlin")
    periodic.refresh_from_db()
    assert periodic.next_at
    assert periodic.problem == ""


def test_one_that_breaks_holds_up_no_other_and_is_not_tried_without_pause(monkeypatch, caplog):
    for name in ("breaks", "works"):
        make_due(make_periodic(name))
    real = ticking.enqueue_for

    def enqueue_for(row, **options):
        if row.name == "breaks":
            raise RuntimeError("something nobody thought of")
        return real(row, **options)

    monkeypatch.setattr(ticking, "enqueue_for", enqueue_for)
    result = tick_once()
    assert (len(result.enqueued), result.failed) == (1, ["breaks"])
    assert result.next_in is not None
    assert result.next_in >= ticking.AFTER_FAILURE
    assert "something nobody thought of" in caplog.text


def on_a_standby() -> Error:
    error = InternalError("cannot execute INSERT in a read-only transaction")
    error.__cause__ = ReadOnlySqlTransaction()
    return error


@pytest.mark.parametrize(
    "error", [OperationalError("the connection is gone"), InterfaceError("it was closed"), on_a_standby()], ids=str
)
def test_an_outage_is_for_the_caller(monkeypatch, error):
    make_due(make_periodic())

    def enqueue_for(row, **options):
        raise error

    monkeypatch.setattr(ticking, "enqueue_for", enqueue_for)
    with pytest.raises(type(error)):
        tick_once()
    assert not PeriodicTick.objects.exists()


def test_the_latest_ticks_are_kept(monkeypatch):
    monkeypatch.setattr(ticking, "TICKS_KEPT", 3)
    periodic = make_periodic(catch_up="all")
    last = make_due(periodic)
    make_due(periodic, since=5 * HOUR)
    tick_once()
    kept = PeriodicTick.objects.order_by("-tick_at").values_list("tick_at", flat=True)
    assert list(kept) == [last, last - HOUR, last - 2 * HOUR]
    assert conf.PERIODIC_CATCH_UP_LIMIT == 10
