"""When a worker looks for work, and how much it asks for."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import UUID

import pytest

from jobs.handlers.registry import Kind
from jobs.windows import Window
from jobs.wire.names import SOMEWHERE
from jobs.worker.clerk import Found
from jobs.worker.crew import Crew
from jobs.worker.forking import FIRST_PAUSE
from jobs.worker.intake import OVERDUE_AGAIN, POLL, POLL_WITH_WAKE_UPS, Intake
from jobs.worker.ledger import Ledger
from jobs.worker.options import WorkerOptions
from jobs.worker.queue_client import ClaimOrder
from tests.handlers.reporter import a_claimed_job
from tests.worker.household import Household, on_hung_up

NOTHING = Found(ClaimOrder(UUID(int=0), (), 1), [])


class Errands:
    """Notes what the clerk is sent for."""

    def __init__(self) -> None:
        self.orders: list[ClaimOrder] = []

    def look(self, order: ClaimOrder) -> None:
        self.orders.append(order)


class Ear:
    working = asks_for_room = False


@pytest.fixture
def errands() -> Errands:
    return Errands()


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
def intake(household: Household, errands: Errands, ear: Ear) -> Iterator[Intake]:
    """The intake of a worker that is registered, with one process of two slots."""
    options = WorkerOptions(processes=1, concurrency=2)
    crew = Crew(household.nursery, 1, 2, household.on_words, on_hung_up)
    crew.man()
    intake = Intake(options, crew, errands, Ledger(), ear)  # type: ignore[arg-type]  # what it needs of them
    intake.is_open = True
    yield intake
    household.children += crew.children


def test_it_looks_at_once_and_once_at_a_time(intake: Intake, errands: Errands):
    for _ in range(3):
        intake.look()
    assert [(order.limit, order.isolated_limit) for order in errands.orders] == [(2, 2)]
    assert intake.patience() == float("inf")


def test_what_ended_while_it_looked_may_have_let_something_go_that_it_has_not_seen(intake: Intake):
    intake.look()
    intake.found(NOTHING)
    assert not intake.may_find_more
    intake.look_soon()
    intake.look()
    intake.look_by_routine()  # an outcome was accepted meanwhile
    intake.found(NOTHING)
    assert intake.may_find_more
    assert intake.patience() == 0


def test_it_does_not_look_while_it_is_closed(intake: Intake, errands: Errands):
    intake.is_open = False
    intake.look()
    assert not errands.orders


@pytest.mark.parametrize(("working", "interval"), [(False, POLL), (True, POLL_WITH_WAKE_UPS)])
def test_when_nothing_was_there_it_sleeps_for_longer_where_wake_ups_work(intake: Intake, ear: Ear, working, interval):
    ear.working = working
    intake.look()
    intake.found(NOTHING)
    assert 0.8 * interval < intake.patience() < 1.2 * interval


def test_it_wakes_when_the_next_job_is_due(intake: Intake, ear: Ear):
    ear.working = True
    intake.look()
    intake.found(replace(NOTHING, next_due_in=5.0))
    assert 4 < intake.patience() <= 5


def test_what_is_due_and_was_not_found_is_locked_by_somebody_and_looked_for_in_a_moment(intake: Intake):
    intake.look()
    intake.found(replace(NOTHING, next_due_in=0.0))
    assert 0 < intake.patience() <= OVERDUE_AGAIN


def test_a_wake_up_ends_its_sleep(intake: Intake, errands: Errands):
    intake.look()
    intake.found(NOTHING)
    intake.look()
    assert len(errands.orders) == 1
    intake.look_soon()
    intake.look()
    assert len(errands.orders) == 2


def test_a_look_is_routine_unless_somebody_said_that_there_is_work_or_there_was_so_much(
    intake: Intake, errands: Errands
):
    intake.look()
    intake.found(replace(NOTHING, next_due_in=1e-9))
    intake.look()  # it is time
    two = [a_claimed_job(), a_claimed_job()]
    intake.found(Found(errands.orders[-1], two))  # all that it asked for
    intake.look()
    intake.found(Found(errands.orders[-1], two[:1]))
    intake.look()
    intake.found(NOTHING)
    intake.look_soon()
    intake.look_by_routine()  # what was said stands
    intake.look()
    intake.found(NOTHING)
    intake.look_by_routine()
    intake.look()
    assert [order.is_routine for order in errands.orders] == [False, True, False, True, False, True]


def queues_looked_at(intake: Intake, errands: Errands) -> list[str]:
    intake.look()
    return list(errands.orders[-1].queues)


def test_one_that_rests_looks_where_it_was_told_to_and_then_everywhere(intake: Intake, errands: Errands):
    intake.look()
    intake.found(NOTHING)
    intake.look_soon("slow", "quick")
    assert queues_looked_at(intake, errands) == ["quick", "slow"]
    intake.found(Found(errands.orders[-1], []))  # somebody else was faster: nothing is known of other queues
    assert queues_looked_at(intake, errands) == []
    intake.found(NOTHING)
    intake.look_soon("slow")
    intake.look_soon()  # because of something else
    assert queues_looked_at(intake, errands) == []
    intake.look_soon("slow")  # while it looks, nobody knows what that will find
    intake.found(NOTHING)
    assert queues_looked_at(intake, errands) == []
    assert len(errands.orders) == 5


def test_one_that_rests_and_hears_that_there_is_work_somewhere_looks_everywhere(intake: Intake, errands: Errands):
    intake.look()
    intake.found(NOTHING)
    intake.look_soon("slow")
    intake.look_soon(SOMEWHERE)
    intake.look()
    assert [list(order.queues) for order in errands.orders] == [[], []]


def test_a_wake_up_during_a_look_is_not_lost_though_that_look_found_nothing(intake: Intake, errands: Errands):
    intake.look()
    intake.look_soon()
    intake.found(NOTHING)
    intake.look()
    assert len(errands.orders) == 2
    intake.found(NOTHING)
    intake.look()
    assert len(errands.orders) == 2


def test_a_look_without_room_for_what_must_begin_at_once_says_nothing_about_that(intake: Intake):
    intake.look()
    intake.found(replace(NOTHING, order=replace(NOTHING.order, isolated_limit=0)))
    assert intake.held_back
    intake.found(replace(NOTHING, order=replace(NOTHING.order, isolated_limit=1)))
    assert not intake.held_back


def test_where_no_process_can_be_made_it_asks_for_no_job_that_needs_one_until_that_is_tried_again(
    intake: Intake, errands: Errands, ear: Ear
):
    ear.working = True
    intake.crew.forking.failed("full")
    intake.look()
    assert [(order.limit, order.isolated_limit) for order in errands.orders] == [(2, 0)]
    intake.found(Found(errands.orders[-1], []))
    assert intake.held_back
    assert 0 < intake.patience() <= FIRST_PAUSE


def test_it_asks_for_no_more_than_it_may_take(intake: Intake, errands: Errands):
    intake.options = replace(intake.options, max_jobs=1)
    intake.look()
    assert [order.limit for order in errands.orders] == [1]
    intake.found(replace(NOTHING, jobs=[a_claimed_job()]))
    assert intake.has_had_enough
    intake.look()
    assert len(errands.orders) == 1
    intake.given_back(1)
    assert not intake.has_had_enough


def test_quick_jobs_are_asked_for_by_the_batch(intake: Intake, errands: Errands):
    for _ in range(500):
        intake.batch.note(0.0001)
    intake.look()
    assert errands.orders[0].limit > 100
    assert errands.orders[0].isolated_limit == 2


def test_a_heavy_kind_weighs_its_slots_and_no_more_than_the_worker_has(intake: Intake):
    assert [intake.weight_of(Kind("any.kind", slots=slots)) for slots in (1, 2, 8)] == [1, 2, 2]


def test_a_heavy_job_takes_its_slots(intake: Intake):
    child = intake.crew.new_isolated_child(2)
    assert intake.crew.occupied_slots == 2
    assert intake.next_order() is None
    child.retire()


def test_a_look_without_room_for_the_heaviest_says_nothing_about_that(intake: Intake):
    order = replace(NOTHING.order, isolated_kinds={"heavy": 2}, isolated_limit=1)
    intake.found(replace(NOTHING, order=order))
    assert intake.held_back
    intake.found(replace(NOTHING, order=replace(order, isolated_limit=2)))
    assert not intake.held_back


def test_outside_its_hours_it_does_not_look(intake: Intake, errands: Errands):
    now = datetime.now().astimezone()
    closed = Window((now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time())
    intake.options = replace(intake.options, window=closed)
    intake.look()
    assert (errands.orders, intake.is_within_hours) == ([], False)
    intake.options = replace(intake.options, window=Window(closed.ends, closed.begins))
    intake.look_soon()
    intake.look()
    assert len(errands.orders) == 1
