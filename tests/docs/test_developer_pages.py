"""What the pages for developers tell their readers to write does what they say."""

import unittest
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import RequestFactory, TestCase

from jobs import enqueue, testing
from jobs.models import Job
from jobs.testing import JobsMixin, drain
from tests.docs.test_examples import ROOT, _kinds_of_the_examples, run_examples  # noqa: F401

pytestmark = pytest.mark.django_db


def passed_tests(names: dict[str, Any]) -> int:
    """Run the test cases of a page as a test runner does; how many tests passed."""
    cases = [each for each in names.values() if isinstance(each, type) and issubclass(each, TestCase)]
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(each) for each in cases if each is not TestCase
    )
    result = unittest.TestResult()
    suite.run(result)
    assert result.wasSuccessful(), result.errors + result.failures
    return result.testsRun


# A TestCase closes the connections when it is over: no transaction of ours may be open around it.
@pytest.mark.django_db(transaction=True)
def test_the_first_job_is_tested_as_the_page_says():
    assert passed_tests(run_examples("docs/developers.md")) == 1


@pytest.mark.django_db(transaction=True)
def test_the_readme_s_test_passes():
    names = run_examples("README.md")
    Job.objects.all().delete()  # what the page enqueues before it
    assert passed_tests(names) == 1


@pytest.mark.django_db(transaction=True)
def test_the_examples_of_the_testing_page_pass():
    assert passed_tests(run_examples("docs/testing.md")) == 5


def test_the_example_with_the_fixture_passes():
    run_examples("docs/testing.md")["test_a_report"](JobsMixin())


def test_the_testing_page_shows_what_a_failure_looks_like():
    run_examples("docs/testing.md")
    enqueue("reports.render", {"month": 5})
    with pytest.raises(AssertionError) as caught:
        testing.assert_enqueued("reports.render", {"month": 6})
    lines = str(caught.value).replace(f"{Job.objects.get().pk}: ", "1: ").splitlines()
    page = (ROOT / "docs/testing.md").read_text()
    assert f"AssertionError: {lines[0]}\n" + "\n".join(lines[1:]) in page


def test_every_public_name_is_on_the_testing_page():
    page = (ROOT / "docs/testing.md").read_text()
    helpers = [name for name in testing.__all__ if name[0].islower()]
    assert len(helpers) == 5
    assert [name for name in helpers if f"{name}(" not in page and f"`{name}`" not in page] == []


@pytest.fixture
def recipes() -> SimpleNamespace:
    return SimpleNamespace(**run_examples("docs/recipes.md"))


def test_one_job_for_each_of_many_rows(recipes):
    users = [User.objects.create_user(f"user-{n}").pk for n in range(3)]
    recipes.send_all()
    assert {job.result for job in drain()} == set(users)


def test_not_twice_at_the_same_time(recipes):
    first, created = recipes.reindex_soon("books")
    assert created
    assert recipes.reindex_soon("books") == (first, False)
    drain()
    assert recipes.reindex_soon("books")[1]


def test_waiting_for_an_api_is_no_failure(recipes):
    enqueue("feeds.pull", {"url": "https://example.org/feed"})
    [job] = drain()
    assert (job.status, job.hold, job.attempt) == ("pending", "scheduled", 0)


def test_a_large_table_is_resumed_where_it_was(recipes):
    for n in range(5):
        User.objects.create_user(f"user-{n}")
    job_id = enqueue("users.export", {"batch": 2}).job_id
    [job] = drain()
    assert (job.pk, job.result, job.step) == (job_id, 5, "5 of 5")
    assert job.checkpoint == {"pk": User.objects.order_by("pk").last().pk, "rows": 5}  # type: ignore[union-attr]


def test_one_step_after_another(recipes):
    enqueue("orders.sum", {"order": [1, 2, 3]}, scope="shop")
    assert [job.result for job in drain()] == [6, "3 items, 6 in all"]


def test_show_cancel_retry_and_pause(recipes):
    job_id = enqueue("search.reindex", {"shop": "books"}, scope="a").job_id
    assert recipes.stop_everything_of("a").cancelled == [job_id]
    shown = recipes.job_status(RequestFactory().get("/"), job_id)
    assert b'"status": "cancelled"' in shown.content
    enqueue("search.reindex", {"shelf": "no such argument"}, max_attempts=1, allow_unknown=True)
    [failed] = drain(raise_errors=False)
    assert recipes.try_again("search.reindex") == [failed.pk]
    recipes.maintenance("default", True)
    assert drain() == []
    recipes.maintenance("default", False)
    assert [job.status for job in drain(raise_errors=False)] == ["failed"]
