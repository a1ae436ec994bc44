"""The dashboard: everything at a glance, for those who may see it, in a few queries."""

import re
from collections import Counter

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs.admin.charts import chart, round_up
from jobs.handlers.base import Outcome, QualityReport, Report
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import finish
from jobs.lifecycle.queues import pause
from jobs.lifecycle.report import report
from jobs.selectors.clock import database_now
from jobs.selectors.throughput import Slot, history
from jobs.states import QualityStatus, Status
from tests.admin.visits import ESCAPED, HOSTILE, page, staff, told_by
from tests.factories import age, claimed, job_in, make_job, make_worker

pytestmark = pytest.mark.django_db
PAGE = "jobyard_dashboard"


def busy_yard(queues: int = 2, running: int = 2, name: str = "q") -> None:
    for number in range(queues):
        job_in(Status.FAILED, queue=f"{name}{number}")
        job_in(Status.COMPLETED, queue=f"{name}{number}")
        make_job(queue=f"{name}{number}")
    worker = make_worker("mill", slots=running)
    for number in range(running):
        ref = claimed(worker, queue="media", subject=f"film {number}")
        qualities = (QualityReport("720p", status=QualityStatus.IN_PROGRESS, progress=61, segments_total=10),)
        report(Report(ref, progress=42, step="transcode", qualities=qualities))


def test_it_shows_depth_figures_running_jobs_and_workers(operator: Client):
    busy_yard()
    content = page(operator, PAGE)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", content))
    assert "2 pending" in text
    assert "2 failed" in text
    assert "1 job of q0 failed." in text
    assert "film 1" in text
    assert "720p" in text
    assert "61 %" in text
    assert "2 of 2 slots in use" in text
    assert re.search(r"Last hour 0\.1 2 2 50\.0% 0 \d", text)


def test_a_number_leads_to_its_jobs(operator: Client):
    job_in(Status.FAILED, queue="mail")
    content = page(operator, PAGE)
    assert f"{reverse('admin:jobs_job_changelist')}?queue=mail&amp;state=failed" in content
    answer = operator.get(reverse("admin:jobs_job_changelist"), {"queue": "mail", "state": "failed"})
    assert answer.status_code == 200


def test_an_empty_yard_says_so(operator: Client):
    content = page(operator, PAGE)
    assert "Nothing: all is well." in content
    assert "No job has been enqueued yet." in content
    assert "No job is running." in content
    assert "No worker has registered yet" in content


def test_the_part_that_changes_comes_without_the_page_around_it(operator: Client):
    busy_yard()
    content = page(operator, PAGE, part="")
    assert "film 1" in content
    assert "<html" not in content
    assert operator.get(reverse(PAGE)).headers["Cache-Control"].startswith("max-age=0, no-cache")


def test_what_needs_attention_is_dealt_with_there(operator: Client):
    failed = job_in(Status.FAILED, queue="mail")
    (form,) = [found for found in re.findall(r"<form.*?</form>", page(operator, PAGE), re.DOTALL) if "Retry" in found]
    fields = dict(re.findall(r'name="(\w+)" value="([^"]*)"', form.replace("&amp;", "&")))
    answer = operator.post(reverse("admin:jobs_job_act"), fields, follow=True)
    assert told_by(answer) == ["1 job retried."]
    assert answer.redirect_chain[-1][0] == reverse(PAGE)
    failed.refresh_from_db()
    assert failed.status == Status.PENDING


def test_who_may_only_look_gets_no_buttons_and_who_may_not_look_gets_nothing():
    job_in(Status.FAILED, queue="mail")
    reader = staff("view_job", "view_worker", name="reader")
    content = page(reader, PAGE)
    assert "1 job of mail failed." in content
    assert "Retry errors" not in content
    assert "Clear errors" not in content
    stranger = staff("view_user", name="stranger")
    assert stranger.get(reverse(PAGE)).status_code == 403
    assert "jy-tile" not in stranger.get(reverse("admin:index")).content.decode()
    anonymous = Client().get(reverse(PAGE))
    assert anonymous.status_code == 302
    assert anonymous.headers["Location"].startswith(reverse("admin:login"))


def test_who_may_see_no_workers_sees_none():
    busy_yard()
    assert "slots in use" not in page(staff("view_job"), PAGE)


def test_the_admins_first_page_has_it_in_short(operator: Client):
    busy_yard()
    content = page(operator, "admin:index")
    assert "1 job of q0 failed." in content
    assert reverse(PAGE) in content


def test_texts_of_others_stay_texts(operator: Client):
    claimed(make_worker(HOSTILE[:30]), subject=HOSTILE)
    content = page(operator, PAGE)
    assert ESCAPED in content
    assert "<script>alert" not in content


def test_it_takes_the_same_few_queries_however_much_there_is(operator: Client):
    busy_yard(1, 1)
    operator.get(reverse(PAGE))
    with CaptureQueriesContext(connection) as few:
        operator.get(reverse(PAGE))
    busy_yard(10, 10, "more")
    with CaptureQueriesContext(connection) as many:
        operator.get(reverse(PAGE))
    assert len(many) <= len(few) + 1  # whether there are qualities at all
    assert len(many) <= 30


def test_a_paused_queue_is_marked(operator: Client):
    make_job(queue="mail")
    pause("mail")
    assert "jy-paused" in page(operator, PAGE)


def test_the_chart_has_the_jobs_of_each_minute():
    for _ in range(4):
        make_job()
    jobs = claim(make_worker(), limit=4)
    finish([Outcome.completed(job.claim) for job in jobs[:3]] + [Outcome.failed(jobs[3].claim, "no", fatal=True)])
    age(300)
    drawn = chart("hour", "Last hour", history(60, 60))
    assert len(drawn.bars) == 60
    (bar,) = drawn.busy
    assert (bar.completed, bar.failed, drawn.top) == (3, 1, 5)
    assert (bar.completed_height, bar.completed_y) == (60, 40)
    assert (bar.failed_height, bar.failed_y) == (20, 20)
    assert 530 <= bar.x <= 560


def test_one_job_among_many_is_still_seen():
    slots = [Slot(database_now(), Counter(completed=10_000)), Slot(database_now(), Counter(failed=1))]
    assert chart("x", "x", slots).bars[1].failed_height == 1.5


@pytest.mark.parametrize(("number", "top"), [(0, 1), (1, 1), (2, 2), (3, 5), (6, 10), (10, 10), (11, 20), (501, 1000)])
def test_a_scale_ends_at_a_round_number(number, top):
    assert round_up(number) == top
