"""An operator at work in a browser: logs in, uploads, clears, cancels, disables; and a reader who may not."""

from pathlib import Path

import pytest
from django.contrib.auth.models import Permission, User
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from jobs.lifecycle.heartbeat import heartbeat
from jobs.models import Job, Worker
from jobs.states import Status, WorkerStatus
from jobs.videos.models import Video
from tests.admin.visits import logged_in
from tests.browser.screen import Screen
from tests.factories import claimed, job_in, make_job, make_worker, reload

pytestmark = [pytest.mark.once, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def operator(screen: Screen) -> Screen:
    client = logged_in(User.objects.create_superuser("anna", password=None))
    screen.log_in(client.cookies["sessionid"].value)
    return screen


def click(screen: Screen, label: str) -> None:
    screen.driver.find_element(By.XPATH, f"//button[starts-with(normalize-space(), '{label}')]").click()


def test_who_logs_in_comes_to_the_page_that_was_asked_for(screen: Screen):
    User.objects.create_superuser("anna", password="a long secret")
    screen.open("/dashboard/")
    assert "/admin/login/" in screen.driver.current_url
    for name, text in (("username", "anna"), ("password", "a long secret")):
        screen.driver.find_element(By.NAME, name).send_keys(text)
    screen.driver.find_element(By.CSS_SELECTOR, "[type=submit]").click()
    screen.wait(lambda: screen.driver.current_url.endswith("/dashboard/"), "the dashboard")
    assert "Nothing: all is well." in screen.text("#jy-parts")


def test_a_video_is_uploaded_in_the_admin(operator: Screen, tmp_path: Path):
    file = tmp_path / "film.mkv"
    file.write_bytes(b"not much of a film")
    operator.open("/admin/videos/video/add/")
    operator.driver.find_element(By.CSS_SELECTOR, "input[type=file]").send_keys(str(file))
    operator.driver.find_element(By.CSS_SELECTOR, "#content-main input[type=submit]").click()
    operator.wait(lambda: Video.objects.exists(), operator.text("#content"))
    assert Job.objects.get().kind == "transcode.hls"


def test_what_matches_a_filter_is_cleared(operator: Screen):
    for _ in range(3):
        job_in(Status.COMPLETED, queue="mail")
    kept = [job_in(Status.COMPLETED, queue="media"), job_in(Status.FAILED, queue="mail")]
    operator.open("/admin/jobs/job/?queue=mail&state=completed")
    Select(operator.driver.find_element(By.ID, "jy-action")).select_by_visible_text("Clear")
    click(operator, "with all")
    assert "3" in operator.text(".jy-number")
    operator.find("button[name=confirmed]").click()
    assert "3 jobs cleared." in operator.text(".messagelist")
    assert set(Job.objects.values_list("pk", flat=True)) == {job.pk for job in kept}


def test_a_running_job_is_cancelled_and_its_worker_disabled(operator: Screen):
    worker = make_worker("mill")
    ref = claimed(worker, subject="a film")
    operator.open(f"/admin/jobs/job/{ref.job_id}/change/")
    click(operator, "Cancel")
    operator.find("button[name=confirmed]").click()
    operator.wait(lambda: Job.objects.get().cancel_requested_at, "the request")
    assert heartbeat(worker.pk, [ref]).cancel == (ref,)
    operator.open(f"/admin/jobs/worker/{worker.pk}/change/")
    click(operator, "Disable")
    operator.wait(lambda: Worker.objects.get().status == WorkerStatus.DISABLED, "the order")
    assert heartbeat(worker.pk, [ref]).disabled


def test_who_may_only_look_finds_nothing_to_press(screen: Screen):
    failed, worker = job_in(Status.FAILED, queue="mail"), make_worker()
    make_job(queue="mail")
    reader = User.objects.create_user("ben", password=None, is_staff=True)
    names = [f"view_{name}" for name in ("job", "worker", "queue")]
    reader.user_permissions.set(Permission.objects.filter(codename__in=names))
    screen.log_in(logged_in(reader).cookies["sessionid"].value)
    pages = ("job/", f"job/{failed.pk}/change/", "worker/", f"worker/{worker.pk}/change/", "queue/")
    for address in ("/dashboard/", *(f"/admin/jobs/{page}" for page in pages)):
        screen.open(address)
        buttons = screen.driver.find_elements(By.CSS_SELECTOR, "#content form[method=post] button")
        assert not buttons, (address, [button.text for button in buttons])
    assert reload(failed).status == Status.FAILED
