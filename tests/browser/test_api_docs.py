"""The page that documents the HTTP API: it works with a strict policy, and asks no other site for anything."""

import pytest
from django.contrib.auth.models import User
from pytest_django.live_server_helper import LiveServer
from selenium.webdriver.common.by import By

from jobs.states import Status
from tests.admin.visits import logged_in
from tests.browser.screen import Screen
from tests.factories import make_job, reload

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]
ELSEWHERE = """return performance.getEntriesByType('resource').map((entry) => entry.name)
    .filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:'))"""


CANCEL = "#operations-One_job-cancel"


def test_an_operator_tries_a_call_without_leaving_the_site(screen: Screen, live_server: LiveServer):
    job = make_job()
    client = logged_in(User.objects.create_superuser("anna", password=None))
    screen.log_in(client.cookies["sessionid"].value)
    screen.open("/api/docs")
    screen.wait(lambda: screen.has(f"{CANCEL} .opblock-summary-control"), "the operations are shown")
    screen.save_picture("api-docs")
    screen.run("document.querySelector(arguments[0]).click()", f"{CANCEL} .opblock-summary-control")
    screen.wait(lambda: screen.has(f"{CANCEL} .try-out__btn"), "the operation opens")
    screen.driver.find_element(By.CSS_SELECTOR, f"{CANCEL} .try-out__btn").click()
    screen.driver.find_element(By.CSS_SELECTOR, f"{CANCEL} tr[data-param-name=job_id] input").send_keys(str(job.pk))
    screen.driver.find_element(By.CSS_SELECTOR, f"{CANCEL} .execute").click()
    screen.wait(lambda: reload(job).status == Status.CANCELLED, "the job is cancelled")
    assert screen.run(ELSEWHERE) == []
