"""Pages of jobs: newest first, forwards and backwards, without counting."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.selectors import job_pages, walking
from jobs.selectors.job_pages import JobPage, job_page, matching
from jobs.selectors.jobs import JobFilter
from jobs.selectors.walking import newest_id
from jobs.states import Status
from tests.factories import job_in, make_job

pytestmark = pytest.mark.django_db
ALL = JobFilter()


def ids(page: JobPage) -> list[int]:
    return [job.pk for job in page.jobs]


@pytest.fixture
def five() -> list[int]:
    """The newest first."""
    return [make_job(queue="q").pk for _ in range(5)][::-1]


def test_the_first_page_has_the_newest(five):
    page = job_page(ALL, size=2)
    assert (ids(page), page.newer, page.older) == (five[:2], None, five[1])


def test_pages_follow_each_other_down_and_up_again(five):
    second = job_page(ALL, before=five[1], size=2)
    assert (ids(second), second.newer, second.older) == (five[2:4], five[2], five[3])
    last = job_page(ALL, before=five[3], size=2)
    assert (ids(last), last.newer, last.older) == (five[4:], five[4], None)
    back = job_page(ALL, after=five[4], size=2)
    assert (ids(back), back.newer, back.older) == (five[2:4], five[2], five[3])
    first = job_page(ALL, after=five[2], size=2)
    assert (ids(first), first.newer, first.older) == (five[:2], None, five[1])


@pytest.mark.parametrize("few", [0, 100])
def test_the_order_is_the_same_whether_few_are_sorted_or_many_walked_along(five, few, monkeypatch):
    monkeypatch.setattr(job_pages, "FEW", few)
    which = JobFilter(states=("unclaimed",))
    assert ids(job_page(which, size=9)) == five
    assert ids(job_page(which, before=five[1], size=2)) == five[2:4]
    assert ids(job_page(which, after=five[3], size=2)) == five[1:3]


def test_how_many_there_are_is_told_where_the_counters_know(five):
    job_in(Status.FAILED, queue="other")
    assert job_page(ALL).known == 6
    assert job_page(JobFilter(queue="q")).known == 5
    assert job_page(JobFilter(states=("failed",))).known == 1
    assert job_page(JobFilter(states=("failed",), queue="q")).known == 0
    assert job_page(JobFilter(statuses=("pending",))).known == 5
    assert job_page(JobFilter(states=("scheduled",))).known is None
    assert job_page(JobFilter(kind="test.noop")).known is None
    assert job_page(ALL).queues == ["other", "q"]


def test_a_page_takes_two_statements_and_none_counts_or_skips(five):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        page = job_page(JobFilter(states=("unclaimed",), queue="q"), before=five[0])
        assert [job.state for job in page.jobs] == ["unclaimed"] * 4  # type: ignore[attr-defined]  # annotated
    statements = [query["sql"] for query in captured.captured_queries]
    assert len(statements) == 2
    assert not [sql for sql in statements if "COUNT(" in sql or "OFFSET" in sql]


def test_an_empty_page_leads_nowhere():
    page = job_page(ALL)
    assert (page.jobs, page.newer, page.older, page.known, page.queues) == ([], None, None, 0, [])
    assert newest_id() == 0


def test_all_that_match_are_walked_in_order(five):
    upwards, upto = five[::-1], newest_id()
    make_job()
    assert matching(ALL, after=0, upto=upto, size=3) == upwards[:3]
    assert matching(ALL, after=upwards[2], upto=upto, size=3) == upwards[3:]


@pytest.fixture
def rare(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two jobs among others, looked for by three ids at first, then six, twelve …; the newest first."""
    monkeypatch.setattr(job_pages, "FEW", 0)
    monkeypatch.setattr(walking, "FIRST_LOOK", 3)
    made = [make_job(queue="rare" if number in (2, 17) else "q").pk for number in range(20)]
    return [made[17], made[2]]


def test_what_is_rare_is_found_look_by_look_down_and_up(rare):
    which = JobFilter(queue="rare")
    assert ids(job_page(which)) == rare
    first = job_page(which, size=1)
    assert (ids(first), first.older, first.reached) == (rare[:1], rare[0], None)
    second = job_page(which, size=1, before=first.older)
    assert (ids(second), second.newer, second.older) == (rare[1:], rare[1], None)
    back = job_page(which, size=1, after=second.newer)
    assert (ids(back), back.older) == (rare[:1], rare[0])


def test_a_look_that_took_too_long_is_the_last_and_the_next_page_goes_on_from_there(rare, monkeypatch):
    monkeypatch.setattr(walking, "PATIENCE", -1)
    which, found, pages = JobFilter(text="nowhere"), list[int](), 0
    page = job_page(which)
    assert (page.jobs, page.reached) == ([], newest_id() + 1 - 3)
    which = JobFilter(queue="rare")
    page = job_page(which)
    while page.older and pages < 20:
        found, pages = found + ids(page), pages + 1
        page = job_page(which, before=page.older)
    assert found + ids(page) == rare
    assert pages >= 5
    assert page.reached is None
    up = job_page(which, after=rare[1])
    assert (up.jobs, up.newer, up.reached) == ([], rare[1] + 3, rare[1] + 3)
