"""Jobs that need a process of their own are taken as far as there is room, and hold up nothing that stands behind."""

import pytest

from jobs.exceptions import InvalidInput
from jobs.handlers.base import Outcome
from jobs.handlers.registry import Kind
from jobs.lifecycle import candidates, isolation, line
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish_one
from jobs.models import Worker
from jobs.states import Status
from tests.factories import age, claimed, make_job, make_worker, reload


@pytest.fixture
def worker() -> Worker:
    return make_worker(slots=10)


@pytest.fixture
def long(kind: Kind) -> str:
    return kind.name


def taken(worker, limit=10, **options) -> list[int]:
    return [job.id for job in claim(worker, limit=limit, **options)]


def test_without_a_limit_all_are_taken_in_order(worker, long):
    jobs = [make_job(name).pk for name in (long, "test.noop", long)]
    assert taken(worker, isolated_kinds=[long]) == jobs


def test_the_surplus_stays_pending_and_what_is_behind_it_is_taken(worker, long):
    first, second, third, last = [make_job(name) for name in (long, long, "test.noop", "test.noop")]
    assert taken(worker, isolated_kinds=[long], isolated_limit=1) == [first.pk, third.pk, last.pk]
    assert (reload(second).status, reload(second).attempt) == (Status.PENDING, 0)


def test_the_limit_is_that_of_all_together(worker, long):
    jobs = [make_job(name).pk for name in (long, long, "test.noop", "test.noop")]
    assert taken(worker, limit=2, isolated_kinds=[long], isolated_limit=1) == [jobs[0], jobs[2]]


def test_a_worker_without_room_takes_what_needs_none(worker, long):
    make_job(long, priority=5)
    plain = [make_job().pk for _ in range(2)]
    assert taken(worker, limit=2, isolated_kinds=[long], isolated_limit=0) == plain
    assert taken(worker, isolated_kinds=[long], isolated_limit=0) == []


def test_the_room_is_shared_by_all_queues(worker, long):
    first, _, third = [make_job(long, queue=queue).pk for queue in ("a", "b", "c")]
    plain = make_job(queue="b").pk
    assert taken(worker, queues=["a", "b"], isolated_kinds=[long], isolated_limit=1) == [first, plain]
    assert taken(worker, queues=["c"], isolated_kinds=[long], isolated_limit=1) == [third]


def test_what_has_one_attempt_left_is_not_fetched_ahead(worker):
    only, also_only, others = make_job(max_attempts=1), make_job(max_attempts=1), [make_job().pk for _ in range(2)]
    assert taken(worker, isolated_limit=1) == [only.pk, *others]
    assert taken(worker, isolated_limit=0) == []
    assert taken(worker) == [also_only.pk]
    finish_one(Outcome.failed(claimed(worker, job := make_job(max_attempts=2)), "broken", retry_after=0))
    assert taken(worker, isolated_limit=0) == []
    assert taken(worker, isolated_limit=1) == [job.pk]


def test_a_line_full_of_last_attempts_is_not_locked_for_the_few_there_is_room_for(worker, monkeypatch):
    asked: list[int] = []
    lock_first = line.Line.lock_first

    def listening(self, limit):
        asked.append(limit)
        return lock_first(self, limit)

    monkeypatch.setattr(line.Line, "lock_first", listening)
    jobs = [make_job(max_attempts=1).pk for _ in range(4)]
    behind = make_job().pk
    assert taken(worker, limit=100, isolated_limit=2) == [*jobs[:2], behind]
    assert asked == [3]
    assert taken(worker, limit=100, isolated_limit=2) == jobs[2:]
    assert asked == [3, 3]  # no more than there is room for; that it got fewer tells that there are no more


def test_what_crashed_before_is_a_suspect_whatever_its_kind(worker):
    crashed = claimed(worker)
    finish_one(Outcome.crashed(crashed, "killed by signal 9"))
    plain = make_job().pk
    assert taken(worker, isolated_limit=0) == [plain]
    assert taken(worker, isolated_limit=1) == [crashed.job_id]


def test_a_queue_full_of_them_is_not_read_to_its_end(worker, long, monkeypatch):
    monkeypatch.setattr(line, "LOOK_BEHIND", 3)
    monkeypatch.setattr(candidates, "HEAD", 3)
    for _ in range(3):
        make_job(long)
    make_job()
    assert taken(worker, isolated_kinds=[long], isolated_limit=0) == []


@pytest.mark.parametrize("limit", [-1, 1.5, True, "1"])
def test_a_limit_that_is_none_is_refused(worker, limit):
    with pytest.raises(InvalidInput, match="isolated_limit is"):
        claim(worker, isolated_limit=limit)


def test_a_heavy_job_is_taken_only_where_all_its_slots_are_free(worker, long):
    heavy, light = make_job(long), make_job()
    assert taken(worker, isolated_kinds={long: 4}, isolated_limit=3) == [light.pk]
    assert taken(worker, isolated_kinds={long: 4}, isolated_limit=4) == [heavy.pk]


def test_heavy_jobs_use_up_the_room_by_their_weight(worker, long):
    jobs = [make_job(long).pk for _ in range(3)]
    assert taken(worker, isolated_kinds={long: 2}, isolated_limit=5) == jobs[:2]


@pytest.mark.parametrize("room", [0, 2])
def test_a_heavy_job_that_has_waited_long_keeps_small_ones_from_taking_its_slots(worker, long, room):
    heavy, light = make_job(long), make_job()
    age(line_wait := 61)
    assert taken(worker, isolated_kinds={long: 4}, isolated_limit=room) == []
    assert line_wait > isolation.HEAVY_WAIT
    assert taken(worker, isolated_kinds={long: 4}, isolated_limit=4) == [heavy.pk, light.pk]


def test_a_small_machine_leaves_large_sources_to_others(worker):
    large, small = make_job(size=2 * 2**30), make_job(size=10)
    unknown = make_job()
    modest = make_worker("modest", slots=9)
    modest.capabilities = {"max_size": 2**30}
    assert taken(modest) == [small.pk, unknown.pk]
    assert taken(worker) == [large.pk]
