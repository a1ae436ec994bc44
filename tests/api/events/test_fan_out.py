"""Who is told that many jobs came at once: those who look at their queue, and nobody else."""

import pytest

from jobs.api.events.fan_out import frames_for, shared_frames
from jobs.api.events.source import News
from jobs.api.events.wanted import Topic, Wanted

MAIL, ONE = frozenset({"mail"}), frozenset({7})


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (Wanted(Topic.JOBS), True),
        (Wanted(Topic.JOBS, queues=MAIL), True),
        (Wanted(Topic.JOBS, queues=frozenset({"media"})), False),
        (Wanted(Topic.JOBS, ids=ONE), False),
        (Wanted(Topic.JOBS, queues=MAIL, ids=ONE), False),
        (Wanted(Topic.WORKERS), False),
    ],
)
def test_of_many_in_one_queue(wanted, told):
    news = News(crowded={"mail"})
    assert ("many" in [about for about, _ in frames_for(wanted, news, shared_frames(news))]) is told


def test_of_more_than_were_looked_at_everybody_who_looks_at_jobs_is_told():
    news = News(left_out=True)
    for wanted in (Wanted(Topic.JOBS), Wanted(Topic.JOBS, queues=MAIL), Wanted(Topic.JOBS, ids=ONE)):
        assert [about for about, _ in frames_for(wanted, news, shared_frames(news))] == ["many"]
