"""The breaker: open after three failures in a row, for longer each time, and one at a time is let through to see."""

import pytest

from jobs.dispatch.breaker import FAILURES, Breaker


def opened(times: int = 1) -> tuple[Breaker, float]:
    """A breaker that was opened so often in a row, and how long it is open now."""
    breaker, now, pause = Breaker(), 0.0, None
    for number in range(FAILURES - 1 + times):
        assert breaker.wait(now) == 0
        pause = breaker.failed(now)
        assert (pause is None) == (number < FAILURES - 1)
        now += pause or 0
    assert pause
    return breaker, pause


def test_two_failures_open_nothing_and_a_success_forgets_them():
    breaker = Breaker()
    for _ in range(3):
        assert breaker.failed(0.0) is None
        assert breaker.failed(0.0) is None
        assert not breaker.succeeded()
        assert breaker.wait(0.0) == 0


@pytest.mark.parametrize(("times", "longest"), [(1, 30), (2, 60), (3, 120), (4, 240), (5, 300), (50, 300)])
def test_it_is_open_for_longer_each_time_with_jitter(times, longest):
    pauses = {opened(times)[1] for _ in range(20)}
    assert all(0.8 * longest <= pause <= longest for pause in pauses)
    assert len(pauses) > 1


def test_while_it_is_open_nobody_is_let_through_and_then_one_is():
    breaker, pause = opened()
    assert breaker.wait(1.0) == pytest.approx(pause - 1.0)
    assert breaker.wait(pause) == 0
    assert breaker.wait(pause) == pytest.approx(5)  # somebody tries it just now
    assert breaker.wait(pause + 5) == 0  # and has not come back


def test_if_that_one_succeeds_it_is_closed_and_begins_anew():
    breaker, _ = opened(4)
    assert breaker.wait(1000.0) == 0
    assert breaker.succeeded()
    assert breaker.wait(1000.0) == 0
    assert breaker.failed(1000.0) is None
    breaker.failed(1000.0)
    assert (breaker.failed(1000.0) or 0) <= 30


def test_if_that_one_fails_it_is_open_again_at_once():
    breaker, pause = opened()
    breaker.wait(pause)
    assert breaker.failed(pause)
    assert breaker.wait(pause + 1) > 0
