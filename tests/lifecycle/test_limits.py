"""Limits: no more run than allowed, nobody waits while there is room, and a hold can always be dropped."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.exceptions import InvalidInput, LimitNotFound
from jobs.handlers.base import ClaimRef
from jobs.lifecycle import limits
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete, fail, release
from jobs.lifecycle.move_to_queue import move_to_queue
from jobs.lifecycle.prioritise import set_priority
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.set_limit import Rules, lift_limit, parse_rate, pause, resume, set_limit
from jobs.models import Job, JobEvent, Limit, Worker
from jobs.selectors.depth import queue_depths
from jobs.selectors.schedule import next_due_in
from jobs.states import EventName, Hold, Status
from tests.factories import age, make_job, make_worker, reload

pytestmark = pytest.mark.django_db


@pytest.fixture
def worker() -> Worker:
    return make_worker(slots=10)


def taken(worker: Worker, limit: int = 10, **options) -> list[ClaimRef]:
    return [job.claim for job in claim(worker, limit=limit, **options)]


def ids(claims: list[ClaimRef]) -> list[int]:
    return [each.job_id for each in claims]


def holds(*jobs: Job) -> list[str]:
    return [reload(job).held_by for job in jobs]


@pytest.mark.parametrize(
    ("target", "name", "options"),
    [
        ("queue", "media", {"queue": "media"}),
        ("kind", "test.noop", {}),
        ("scope", "library-7", {"scope": "library-7"}),
        ("key", "library-7", {"limit_key": "library-7"}),
        ("key", "library-*", {"limit_key": "library-7"}),
    ],
)
def test_no_more_run_than_allowed_and_the_next_go_when_one_ends(worker, target, name, options):
    set_limit(target, name, Rules(max_running=2))
    jobs = [make_job(**options).pk for _ in range(4)]
    first = taken(worker)
    assert ids(first) == jobs[:2]
    assert taken(worker) == []
    complete(first[0])
    assert ids(taken(worker)) == [jobs[2]]
    assert taken(worker) == []
    fail(first[1], "bad", fatal=True)
    assert ids(taken(worker)) == [jobs[3]]


def test_what_is_blocked_does_not_block_those_behind_it(worker):
    set_limit("key", "a", Rules(max_running=1))
    first, *held = [make_job(limit_key="a", priority=5) for _ in range(30)]
    free = [make_job(limit_key=key).pk for key in ("b", "", "c")]
    assert ids(taken(worker, limit=2)) == [first.pk, free[0]]
    assert ids(taken(worker, limit=2)) == free[1:]
    assert holds(*held) == ["key:a"] * 29
    assert reload(held[0]).hold == Hold.LIMITED


def test_each_key_that_a_star_means_has_room_of_its_own_and_its_own_limit_comes_first(worker):
    set_limit("key", "customer-*", Rules(max_running=1))
    set_limit("key", "customer-7", Rules(max_running=2))
    jobs = [make_job(limit_key=f"customer-{number}").pk for number in (1, 1, 2, 7, 7, 7)]
    assert ids(taken(worker)) == [jobs[0], jobs[2], jobs[3], jobs[4]]


def test_the_most_urgent_goes_first_when_there_is_room(worker):
    set_limit("key", "a", Rules(max_running=1))
    first = make_job(limit_key="a")
    claims = taken(worker)
    low, high = make_job(limit_key="a"), make_job(limit_key="a", priority=5)
    assert taken(worker) == []
    complete(claims[0])
    assert holds(low, high) == ["key:a", ""]
    assert ids(claims) == [first.pk]


def test_all_limits_of_a_job_must_have_room_and_none_is_left_unused(worker):
    """The kind has room for one more, but the first that waits for it has a key that is full: the next one goes."""
    set_limit("kind", "test.noop", Rules(max_running=2))
    set_limit("key", "*", Rules(max_running=1))
    jobs = [make_job(limit_key=key) for key in ("a", "b", "a", "c")]
    first, second = taken(worker)
    assert ids([first, second]) == [jobs[0].pk, jobs[1].pk]
    assert taken(worker) == []
    complete(second)
    assert ids(taken(worker)) == [jobs[3].pk]
    assert holds(jobs[2])[0] in ("key:a", "kind:test.noop")
    complete(first)
    assert ids(taken(worker)) == [jobs[2].pk]


def test_a_place_that_the_first_cannot_take_goes_to_the_next_in_the_same_claim(worker):
    set_limit("kind", "test.noop", Rules(max_running=2))
    set_limit("key", "*", Rules(max_running=1))
    jobs = [make_job(limit_key=key) for key in ("a", "b", "a", "c")]
    _, second = taken(worker)
    assert taken(worker) == []
    assert holds(*jobs[2:]) == ["kind:test.noop"] * 2
    complete(second)
    free = make_job("other.kind", allow_unknown=True)
    assert set(ids(taken(worker))) == {free.pk, jobs[3].pk}
    assert holds(jobs[2]) == ["key:a"]


def test_a_crash_frees_the_place_when_it_is_reaped(worker):
    set_limit("key", "a", Rules(max_running=1))
    make_job(limit_key="a")
    waiting = make_job(limit_key="a")
    assert len(taken(worker)) == 1
    assert taken(make_worker("other")) == []
    age(7200)
    other = make_worker("third")
    reap_once()
    assert len(taken(other)) == 1
    assert Job.objects.running().count() == 1
    assert reload(waiting).status in (Status.PENDING, Status.RUNNING)


def test_a_job_that_is_handed_back_makes_room(worker):
    set_limit("key", "a", Rules(max_running=1))
    jobs = [make_job(limit_key="a").pk for _ in range(2)]
    (held,) = taken(worker)
    assert taken(worker) == []
    release(held, "shutdown")
    assert ids(taken(worker)) == [jobs[1]]  # what was handed back stands behind it


def test_a_job_that_was_let_go_and_is_cancelled_makes_room_for_the_next(worker):
    set_limit("key", "a", Rules(max_running=1))
    jobs = [make_job(limit_key="a").pk for _ in range(3)]
    (held,) = taken(worker)
    assert taken(worker) == []
    complete(held)
    cancel(jobs[1])
    assert ids(taken(worker)) == [jobs[2]]


def test_whoever_changes_a_held_job_lets_it_go(worker):
    set_limit("key", "a", Rules(max_running=1))
    make_job(limit_key="a")
    moved, raised = make_job(limit_key="a"), make_job(limit_key="a")
    taken(worker)
    taken(worker)
    assert holds(moved, raised) == ["key:a", "key:a"]
    move_to_queue(moved.pk, "elsewhere")
    set_priority(raised.pk, 3)
    assert holds(moved, raised) == ["", ""]
    assert taken(worker) == []  # asked again, held back again
    assert holds(moved, raised) == ["key:a", "key:a"]


def test_the_reaper_lets_go_whom_nobody_keeps_any_more(worker):
    """Whatever was missed, the next reap mends: here a hold that no limit explains, and one whose limit has room."""
    set_limit("key", "b", Rules(max_running=1))
    orphan, missed, kept = make_job(), make_job(limit_key="b"), make_job(limit_key="b")
    Job.objects.filter(pk=orphan.pk).update(hold=Hold.LIMITED, held_by="kind:test.noop")
    Job.objects.filter(pk__in=[missed.pk, kept.pk]).update(hold=Hold.LIMITED, held_by="key:b")
    assert taken(worker) == []
    reap_once()
    assert holds(orphan, missed, kept) == ["", "", "key:b"]


def test_a_changed_or_lifted_limit_counts_at_once(worker):
    set_limit("kind", "test.noop", Rules(max_running=1))
    jobs = [make_job().pk for _ in range(4)]
    assert ids(taken(worker)) == jobs[:1]
    assert taken(worker) == []
    set_limit("kind", "test.noop", Rules(max_running=2))
    assert ids(taken(worker)) == jobs[1:2]
    assert taken(worker) == []
    lift_limit("kind", "test.noop")
    assert ids(taken(worker)) == jobs[2:]
    with pytest.raises(LimitNotFound, match="There is no limit of the kind"):
        lift_limit("kind", "test.noop")


@pytest.mark.parametrize(("target", "options"), [("kind", {}), ("scope", {"scope": "x"}), ("key", {"limit_key": "x"})])
def test_a_pause_holds_all_of_them_back_and_the_end_of_it_lets_them_go(worker, target, options):
    name = "test.noop" if target == "kind" else "x"
    assert pause(target, name, "disk") is True
    assert pause(target, name) is False
    jobs = [make_job(**options).pk for _ in range(3)]
    assert taken(worker) == []
    assert queue_depths().total.pending == 3
    assert queue_depths().total.oldest_pending_seconds is not None
    assert resume(target, name) is True
    assert resume(target, name) is False
    assert ids(taken(worker)) == jobs
    assert not Limit.objects.exists()


def test_a_pause_leaves_the_limit_of_the_same_name(worker):
    set_limit("kind", "test.noop", Rules(max_running=1))
    pause("kind", "test.noop")
    lift_limit("kind", "test.noop")
    assert Limit.objects.get().paused
    resume("kind", "test.noop")
    assert not Limit.objects.exists()
    names = list(JobEvent.objects.filter(name__startswith="limit").order_by("id").values_list("name", flat=True))
    assert names == [EventName.LIMIT_SET] * 2 + [EventName.LIMIT_REMOVED, EventName.LIMIT_SET]


# Rates and hours


@pytest.mark.parametrize(("target", "name"), [("queue", "default"), ("kind", "test.noop")])
def test_no_more_start_per_period_and_the_worker_knows_when_to_look_again(worker, target, name):
    set_limit(target, name, Rules(rate_jobs=3, rate_seconds=600.0))
    jobs = [make_job(run_after=None).pk for _ in range(5)]
    first = taken(worker)
    assert ids(first) == jobs[:3]
    for each in first:
        complete(each)  # what has ended counts, too
    assert taken(worker) == []
    assert 590 < wait() <= 606.1
    age(500)
    assert taken(worker) == []
    assert 90 < wait() <= 106.1
    age(110)
    assert ids(taken(worker)) == jobs[3:]
    assert next_due_in() is None


def wait() -> float:
    seconds = next_due_in()
    assert seconds is not None
    return seconds


def test_a_busy_queue_opens_a_limit_whose_time_has_come(worker):
    """A worker that never runs out of other work would not notice otherwise."""
    set_limit("key", "a", Rules(rate_jobs=1, rate_seconds=60.0))
    make_job(limit_key="a")
    late = make_job(limit_key="a")
    others = [make_job().pk for _ in range(3)]
    assert len(taken(worker, limit=2)) == 2
    assert holds(late) == ["key:a"]
    age(70)
    assert ids(taken(worker, limit=1)) == others[1:2]
    assert holds(late) == [""]


def test_outside_its_hours_nothing_starts(worker):
    now = datetime.now(UTC)
    begins, ends = now + timedelta(hours=2), now + timedelta(hours=3)
    set_limit("queue", "default", Rules(window=f"{begins:%H:%M}-{ends:%H:%M}", time_zone="UTC"))
    job = make_job()
    assert taken(worker) == []
    assert taken(worker) == []
    assert 3600 < wait() <= 7200
    set_limit("queue", "default", Rules(window=f"{now - timedelta(hours=1):%H:%M}-{ends:%H:%M}", time_zone="UTC"))
    assert ids(taken(worker)) == [job.pk]


# What it costs


def test_jobs_without_a_limit_cost_no_statement_more(worker):
    def statements() -> tuple[int, int]:
        make_job()
        with CaptureQueriesContext(connection) as claiming:
            claims = taken(worker, queues=["default"], limit=1)
        with CaptureQueriesContext(connection) as finishing:
            complete(claims[0])
        return len(claiming), len(finishing)

    before = statements()
    set_limit("key", "a", Rules(max_running=1))
    set_limit("queue", "elsewhere", Rules(max_running=1))
    pause("kind", "other.kind")
    assert statements() == before


# Input


@pytest.mark.parametrize(
    ("target", "name", "rules", "words"),
    [
        ("worker", "x", Rules(max_running=1), "A limit is about a queue, kind, scope, key"),
        ("queue", "no spaces", Rules(max_running=1), "queue name"),
        ("key", "", Rules(max_running=1), "Name the key"),
        ("key", "a*b", Rules(max_running=1), "only at its end"),
        ("scope", "a*", Rules(max_running=1), "only a key may have"),
        ("key", "a*", Rules(rate_jobs=1, rate_seconds=1.0), "means many"),
        ("kind", "a", Rules(max_running=0), "to let nothing run, pause it"),
        ("kind", "a", Rules(), "Say how many"),
        ("kind", "a", Rules(window="22-6"), "as in 22:00-06:00"),
        ("kind", "a", Rules(window="22:00-22:00"), "begins when it ends"),
        ("kind", "a", Rules(window="22:00-06:00", time_zone="Mars/Base"), "no time zone 'Mars/Base'"),
    ],
)
def test_what_cannot_be_a_limit_is_refused(target, name, rules, words):
    with pytest.raises(InvalidInput) as refused:
        set_limit(target, name, rules)
    assert words in str(refused.value)
    assert not Limit.objects.exists()


@pytest.mark.once
def test_a_rate_is_read():
    assert parse_rate("100/m") == (100, 60.0)
    assert parse_rate("5 / 10s") == (5, 10.0)
    for wrong in ("", "5", "0/s", "5/x", "-1/m", "1/99d", "1/0s"):
        with pytest.raises(InvalidInput, match="is not a number of jobs and a period"):
            parse_rate(wrong)


def test_names_are_read_back():
    name = limits.Name.read("key:with:colon")
    assert (name.value, str(name)) == ("with:colon", "key:with:colon")
