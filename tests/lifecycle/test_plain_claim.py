"""Claiming by one statement: what is plain, and nothing else; with the same traces as any other claim."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from jobs.handlers.base import ClaimRef, Outcome
from jobs.handlers.registry import Kind
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.plain_claim import Habit, take_plainly
from jobs.lifecycle.queues import pause
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.lifecycle.workers import disable, drain
from jobs.lock_waits import lock_waits_limited
from jobs.models import Claim, Job, JobEvent, Limit, QueueDelta, Worker
from jobs.selectors.clock import database_now
from jobs.states import LimitTarget, Status, WorkerStatus
from tests.factories import claimed, kept_counts, make_job, make_worker, noted_deltas, real_counts, reload
from tests.lifecycle.test_complete import alike
from tests.lifecycle.test_wake_up import Ear, ear  # noqa: F401  a fixture

pytestmark = pytest.mark.postgres
NO_CLAIM = ClaimRef(0, uuid4())


def taken(worker: Worker, *queues: str, limit: int = 10, isolated: tuple[str, ...] = (), **options: Any) -> list[int]:
    return [job.id for job in take_plainly(worker, queues, limit, uuid4(), isolated, **{"kinds": (), **options})]


def traces(number: int, habit: Habit) -> tuple[Any, ...]:
    """What is left of three jobs of one queue, so many of which a worker of two slots takes."""
    for model in (JobEvent, QueueDelta, Claim, Job):
        model.objects.all().delete()
    worker, claim_id = make_worker("w", slots=2), uuid4()
    for place in range(3):
        make_job(payload={"place": place}, subject=f"no. {place}", max_runtime=9, priority=-place)
    jobs = claim(worker, limit=number, claim_id=claim_id, habit=habit)
    return (
        [job._replace(claim=NO_CLAIM, enqueued_at="") for job in jobs],
        alike(Job.objects.order_by("id").values()),
        alike(JobEvent.objects.exclude(job_id=None).order_by("job_id", "id").values()),
        noted_deltas(),
        list(Claim.objects.values_list("worker_id", flat=True)) == [worker.pk],
        {job.claim.claim_id for job in jobs} == {claim_id},
        Worker.objects.get(pk=worker.pk).status,
    )


@pytest.mark.parametrize("number", [1, 2, 3])
def test_it_leaves_the_same_traces_as_any_other_claim(number):
    plain, other = traces(number, Habit(is_plain=True)), traces(number, Habit(is_plain=False))
    assert plain == other
    assert len(plain[0]) == number
    assert kept_counts() == real_counts()


def test_it_is_one_round_trip_and_a_transaction_by_itself(transactional_db):
    worker, habit = make_worker(), Habit(is_plain=True)
    with lock_waits_limited():
        for _ in range(3):
            make_job()
            claim(worker, habit=habit)  # what is built once is built, and what is kept is kept
        job = make_job()
        with CaptureQueriesContext(connection) as sent:
            assert [each.id for each in claim(worker, habit=habit)] == [job.pk]
        assert len(sent) == 1
    with connection.cursor() as cursor:  # what it has set was set for itself alone
        cursor.execute("SELECT current_setting('enable_seqscan'), current_setting('lock_timeout')")
        assert cursor.fetchone() == ("on", "0")


def test_it_opens_a_connection_where_the_last_one_is_gone(transactional_db):
    worker, job = make_worker(), make_job()
    connection.close()
    with lock_waits_limited():
        assert taken(worker) == [job.pk]


def test_of_all_queues_it_takes_from_the_most_urgent_and_of_named_ones_from_the_first_that_has_some():
    first, urgent = make_job(queue="a"), make_job(queue="b", priority=1)
    worker = make_worker()
    assert taken(worker, "c", "a", "b") == [first.pk]
    assert taken(worker) == [urgent.pk]
    assert taken(worker) == []


def test_a_paused_queue_is_passed_by():
    make_job(queue="a", priority=5)
    job = make_job(queue="b")
    pause("a")
    assert taken(make_worker(), "a", "b") == [job.pk]
    make_job(queue="b")
    pause("b")
    assert taken(make_worker()) == []


@pytest.mark.parametrize("gone", [disable, drain, lambda pk: Worker.objects.filter(pk=pk).update(status="offline")])
def test_who_may_not_claim_is_given_nothing(gone):
    make_job()
    worker = make_worker()
    gone(worker.pk)
    assert taken(worker) == []


def crashed_before() -> None:
    Job.objects.update(crashes=1)


def last_attempt() -> None:
    Job.objects.update(attempt=F("max_attempts") - 1)


def resumed() -> None:
    Job.objects.update(progressed_at=F("enqueued_at"))


def limited() -> None:
    set_limit(LimitTarget.KIND, "test.noop", Rules(max_running=5))


def others_due() -> None:
    due = make_job(queue="other", run_after=database_now() + timedelta(hours=1))
    Job.objects.filter(pk=due.pk).update(run_after=F("enqueued_at"))


def limit_to_be_opened() -> None:
    set_limit(LimitTarget.QUEUE, "other", Rules(max_running=5))
    Limit.objects.update(opens_at=Job.objects.latest("id").enqueued_at - timedelta(days=1))


ODD = (crashed_before, last_attempt, resumed, limited, others_due, limit_to_be_opened)


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: odd.__name__)
def test_where_one_is_not_plain_none_is_taken_but_by_a_closer_look(odd):
    worker, plain, habit = make_worker(slots=5), make_job(), Habit(is_plain=True)
    odd()
    before = list(Job.objects.order_by("id").values())
    assert taken(worker, "default") == []
    assert list(Job.objects.order_by("id").values()) == before
    assert not Claim.objects.exists()
    assert [job.id for job in claim(worker, ["default"], 5, habit=habit)] == [plain.pk]
    assert kept_counts() == real_counts()


def test_what_needs_a_process_of_its_own_is_looked_at_closely(kind: Kind):
    worker, long, habit = make_worker(slots=5), make_job(kind.name), Habit(is_plain=True)
    make_job()
    assert taken(worker, isolated=(kind.name,)) == []
    got = claim(worker, limit=5, isolated_kinds=[kind.name], isolated_limit=0, habit=habit)
    assert [job.kind for job in got] == ["test.noop"]
    assert reload(long).status == Status.PENDING


def test_the_habit_is_what_the_last_closer_look_found(kind: Kind):
    worker, habit = make_worker(slots=5), Habit()
    make_job(kind.name)
    claim(worker, habit=habit, isolated_kinds=[kind.name])
    assert not habit.is_plain
    make_job()
    claim(worker, habit=habit)
    assert habit.is_plain


def test_where_there_is_nothing_the_habit_stays_and_where_it_was_wrong_it_does_not(kind: Kind):
    worker, habit = make_worker(slots=5), Habit(is_plain=True)
    assert not claim(worker, habit=habit)
    assert (habit.is_plain, habit.needed) == (True, 1)  # somebody else was faster
    make_job(max_attempts=1)
    assert claim(worker, habit=habit)
    assert (habit.is_plain, habit.needed) == (False, 2)


def test_where_there_was_less_than_was_asked_for_other_queues_are_looked_at_next():
    worker, habit = make_worker(slots=5), Habit(is_plain=True)
    for queue in ("a", "b"):
        make_job(queue=queue)
    assert len(claim(worker, ["a", "b"], 5, habit=habit)) == 1
    assert not habit.is_plain
    make_job(queue="a")
    assert len(claim(worker, ["a", "b"], 5, habit=habit)) == 2
    assert habit.is_plain
    make_job(queue="a")
    claim(worker, ["a"], 5, habit=habit)
    assert habit.is_plain  # there is no other


def test_a_line_that_is_seldom_plain_is_looked_at_closely_more_and_more_often():
    habit = Habit()
    tried = 0
    for _ in range(300):
        if habit.is_plain:
            tried += 1
            habit.was_wrong()
        habit.saw(plain=True)
    assert 5 <= tried <= 10
    habit = Habit(is_plain=True, needed=64)
    habit.was_right(all_of_it=False)
    habit.saw(plain=True)
    assert habit.is_plain


def test_a_worker_that_is_given_only_some_kinds_gets_no_others(kind: Kind):
    make_job(kind.name, priority=5)
    job = make_job()
    assert taken(make_worker(), kinds=["test.noop"]) == [job.pk]


def test_a_call_that_is_repeated_gets_what_it_holds_and_takes_nothing_more():
    worker, claim_id, habit = make_worker(), uuid4(), Habit(is_plain=True)
    first, second = make_job(), make_job()
    assert [job.id for job in claim(worker, claim_id=claim_id, habit=habit)] == [first.pk]
    assert [job.id for job in claim(worker, claim_id=claim_id, habit=habit)] == [first.pk]
    assert reload(second).status == Status.PENDING
    assert Claim.objects.count() == 1


def test_a_second_attempt_is_charged_as_one():
    ref = claimed(max_attempts=5)
    finish_one(Outcome.failed(ref, "broken", retry_after=0))
    [job] = take_plainly(make_worker("other"), (), 1, uuid4(), (), ())
    assert (job.attempt, reload(ref).attempt, reload(ref).last_worker_name) == (2, 2, "other")


@pytest.mark.parametrize(("before", "status"), [(0, WorkerStatus.IDLE), (1, WorkerStatus.BUSY)])
def test_a_worker_whose_slots_are_full_by_it_is_busy(before, status):
    worker = make_worker(slots=2)
    for _ in range(before):
        claimed(worker)
    Worker.objects.update(status=WorkerStatus.IDLE)
    make_job()
    assert taken(worker)
    assert Worker.objects.get(pk=worker.pk).status == status


@pytest.mark.django_db(transaction=True)
def test_what_it_locked_and_left_is_told_to_others(ear: Ear):  # noqa: F811
    make_job(queue="a", max_attempts=1)
    make_job(queue="a")
    assert ear.heard() == ["a", "a"]
    assert taken(make_worker()) == []
    assert ear.heard() == ["a"]
    make_job(queue="b", priority=1)
    ear.heard()
    assert taken(make_worker())
    assert ear.heard() == []
