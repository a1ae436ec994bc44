"""The admin's pages in a browser: readable in light and dark, wide and narrow, under a strict policy."""

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from jobs.handlers.base import PhaseReport, QualityReport, Report
from jobs.handlers.periodic import Declaration
from jobs.lifecycle.periodic.edit import edit, run_now
from jobs.lifecycle.periodic.sync import sync
from jobs.lifecycle.periodic.tick import tick_once
from jobs.lifecycle.queues import pause
from jobs.lifecycle.record_deliveries import record_deliveries
from jobs.lifecycle.report import report
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.lifecycle.set_limit import pause as pause_all_of
from jobs.lifecycle.take_deliveries import take_deliveries
from jobs.models import Job, PeriodicJob, WebhookDelivery, WebhookHost, Worker
from jobs.states import PhaseStatus, QualityStatus, Status
from jobs.webhooks.message import Sent
from tests.admin.visits import HOSTILE, logged_in
from tests.browser.screen import Screen
from tests.browser.test_look import CONTRAST, NAMELESS
from tests.factories import claimed, job_in, make_due, make_job, make_periodic, make_worker, reload

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG = "/media/library/" + "Donaudampfschifffahrtsgesellschaftskapitän" * 3
WEBHOOK = "https://hooks.a-rather-long-name-of-a-company.example.org:8443/services/T0/secret"
# Tables that can be moved sideways because they do not fit, and the last cell that is seen of each.
CUT_OFF = """return [...document.querySelectorAll('.jy-wide')].filter((table) => table.scrollWidth > table.clientWidth)
    .map((table) => [table.getAttribute('aria-label'), table.scrollWidth - table.clientWidth])"""
SIZES = {"wide": (1280, 900), "tablet": (800, 1024), "narrow": (360, 740)}


@pytest.fixture
def site(screen: Screen) -> Screen:
    """An operator before a site with jobs in several states."""
    ref = claimed(make_worker("media-1"), queue="media", subject=LONG, payload={"path": LONG})
    phase = PhaseReport("encode", 0, PhaseStatus.RUNNING, 40)
    quality = QualityReport("720p", QualityStatus.IN_PROGRESS, progress=30, segments_completed=3, segments_total=10)
    report(Report(ref, 40, "encoding", [phase], [quality]))
    job_in(Status.FAILED, subject=HOSTILE, webhook_url=WEBHOOK)
    answer_webhooks()
    job_in(Status.COMPLETED), make_job(queue="mail")
    claimed(make_worker("transcoder-07.media.example.org", queues=["transcoding-large"]), queue="transcoding-large")
    Job.objects.filter(status=Status.COMPLETED).update(started_at=NOON, finished_at=NOON + timedelta(minutes=133))
    Job.objects.filter(status=Status.FAILED).update(last_error=HOSTILE + LONG, last_traceback=HOSTILE + "\n" + LONG)
    pause("mail", "too many bounces")
    set_limit("key", "library-*", Rules(max_running=4))
    set_limit("queue", "media", Rules(1, 100, 60.0, "22:00-06:00", "America/Argentina/ComodRivadavia"))
    pause_all_of("scope", LONG, HOSTILE)
    client = logged_in(User.objects.create_superuser("anna", password=None))
    screen.log_in(client.cookies["sessionid"].value)
    return screen


def add_periodic() -> None:
    """One that the code declares and somebody has edited, one that broke, one that missed some."""
    nightly = Declaration(
        "reports.nightly", "test.noop", "30 2 * * 1-5", "America/Argentina/ComodRivadavia", {"p": LONG}
    )
    sync([nightly, Declaration("vanished", "test.noop", "@daily")], ["test.noop"])
    sync([nightly], ["test.noop"])
    edit("reports.nightly", payload={"path": LONG, "month": 5}, overlap=False)
    run_now("reports.nightly")
    make_due(make_periodic("hourly", catch_up="all"), since=timedelta(hours=20))
    tick_once()
    PeriodicJob.objects.filter(name="hourly").update(problem=HOSTILE + LONG)


def answer_webhooks() -> None:
    """The receiver complains at length, and is left alone for a while."""
    [delivery] = take_deliveries(1, lambda host: 1)
    record_deliveries([Sent(delivery, False, 500, HOSTILE + LONG, error="It answered 500.", host_is_well=False)])
    until = timezone.now() + timedelta(minutes=5)
    WebhookHost.objects.filter(pk=delivery.host).update(failures=5, openings=1, open_until=until)


def pages() -> dict[str, str]:
    running, failed = Job.objects.get(queue="media"), Job.objects.get(status=Status.FAILED)
    worker = Worker.objects.get(name="media-1")
    return {
        "jobs": "/admin/jobs/job/",
        "running": f"/admin/jobs/job/{running.pk}/change/",
        "failed": f"/admin/jobs/job/{failed.pk}/change/",
        "index": "/admin/",
        "dashboard": "/dashboard/",
        "workers": "/admin/jobs/worker/",
        "worker": f"/admin/jobs/worker/{worker.pk}/change/",
        "queues": "/admin/jobs/queue/",
        "limits": "/admin/jobs/limit/",
        "periodic-list": "/admin/jobs/periodicjob/",
        "periodic": f"/admin/jobs/periodicjob/{PeriodicJob.objects.get(name='reports.nightly').pk}/change/",
        "webhooks": "/admin/jobs/webhookdelivery/",
        "webhook": f"/admin/jobs/webhookdelivery/{WebhookDelivery.objects.get(job_id=failed.pk).pk}/change/",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_fit_are_readable_and_have_names_for_everything(site: Screen, size: str, scheme: str):
    site.scheme(scheme)
    add_periodic()
    for name, address in pages().items():
        site.resize(*SIZES[size])
        site.open(address)
        assert site.run("return document.documentElement.scrollWidth - innerWidth") <= 0, name
        assert site.run(CUT_OFF) == [], name
        contrast, where = site.run(CONTRAST.replace("'body *'", "'#content *'"))
        assert contrast >= 4.5, f"{name}: {where}"
        assert not site.run(NAMELESS), name
        site.save_picture(f"admin-{name}-{size}-{scheme}")


def test_a_failed_job_is_retried_from_its_page(site: Screen):
    failed = Job.objects.get(status=Status.FAILED)
    site.open(f"/admin/jobs/job/{failed.pk}/change/")
    site.driver.find_element(By.XPATH, "//button[text()='Retry']").click()
    assert "1 job retried." in site.text(".messagelist")
    assert reload(failed).status == Status.PENDING


def test_all_jobs_on_the_page_are_selected_at_once_and_asked_about(site: Screen):
    site.open("/admin/jobs/job/")
    site.driver.find_element(By.CSS_SELECTOR, "[data-select-all]").click()
    Select(site.driver.find_element(By.ID, "jy-action")).select_by_visible_text("Clear")
    site.driver.find_element(By.XPATH, "//button[text()='with those selected']").click()
    assert re.search(r"Clear: 5\s+jobs", site.text(".jy-number"))
    site.find("button[name=confirmed]").click()
    assert "2 jobs cleared." in site.text(".messagelist")
    assert set(Job.objects.values_list("status", flat=True)) == {Status.PENDING, Status.RUNNING}
