"""What ffmpeg tells of its progress."""

import pytest

from jobs.videos.transcoding.progress import Gauge, Stalled


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told() -> list[tuple[int, float, float]]:
    return []


@pytest.fixture
def gauge(clock: Clock, told) -> Gauge:
    return Gauge(lambda gauge: told.append((gauge.frame, gauge.fps, gauge.speed)), clock)


def feed(gauge: Gauge, text: str) -> None:
    for line in text.split():
        gauge.feed(line)


def test_the_first_block_says_not_available(gauge, told):
    feed(gauge, "frame=0 fps=0.00 out_time_us=N/A out_time_ms=N/A speed=N/A progress=continue")
    assert told == [(0, 0.0, 0.0)]


def test_a_block_is_told_when_it_is_whole(gauge, told):
    feed(gauge, "frame=75 fps=49.50 out_time_us=2500000 out_time_ms=2500000 speed=1.65x")
    assert told == []
    feed(gauge, "progress=continue")
    assert told == [(75, 49.5, 1.65)]
    assert gauge.out_time == 2.5  # microseconds, also where the name says milliseconds


def test_it_never_goes_back(gauge, told):
    feed(gauge, "frame=75 progress=continue frame=10 out_time_us=-1000 progress=continue")
    assert [frame for frame, *_ in told] == [75, 75]


@pytest.mark.parametrize("line", ["", "=", "frame", "frame=x", "frame=nan", "speed=", "nonsense=1", "frame=1e999"])
def test_lines_that_say_nothing_do_no_harm(gauge, line):
    gauge.feed(line)


def test_one_that_is_alive_and_gets_nowhere_is_stalled(gauge, clock):
    feed(gauge, "frame=75 progress=continue")
    for _ in range(3):
        clock.now += 20
        feed(gauge, "frame=75 progress=continue")
        gauge.check()
    clock.now += 1
    with pytest.raises(Stalled, match="no further for 61 s, at frame 75"):
        gauge.check()


def test_one_that_says_nothing_at_all_is_stalled_too(gauge, clock):
    clock.now += 61
    with pytest.raises(Stalled):
        gauge.check()


def test_one_that_is_slow_by_nature_gets_more_time(gauge, clock):
    for frame in (1, 2, 3):
        clock.now += 50
        feed(gauge, f"frame={frame}")
    clock.now += 149
    gauge.check()
    clock.now += 2
    with pytest.raises(Stalled):
        gauge.check()
