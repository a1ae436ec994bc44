"""One look: what is new becomes alerts, each event is judged once, and an idle queue costs next to nothing."""

import json
from functools import partial

import django
import pytest
from django.core import mail
from django.db import connection, transaction
from django.db.models import Q
from django.test.utils import CaptureQueriesContext

from jobs.alerts import watching
from jobs.alerts.watching import Look, dry_look, look_in_turn, look_once
from jobs.handlers.base import Outcome
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.reap import ReapResult, mark_offline, reap_once
from jobs.lifecycle.retry import retry
from jobs.models import Alert, AlertReading, AlertTotal, JobEvent
from jobs.selectors.alerts import SETTLE_PAUSE, SETTLE_TRIES
from jobs.selectors.concerns import Disk
from jobs.states import EventName, Status
from tests.concurrency.threads import together
from tests.factories import age, claimed, job_in, make_job, make_worker
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)  # an open transaction of the test's own would never settle
ROOM = (Disk("stored files on here", 90, 100),)
NOBODY: list[str] = []


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is shared: transactions of other tests that run now keep events from being settled."""
    monkeypatch.setattr("jobs.selectors.alerts.SETTLE_TRIES", round(PATIENCE / SETTLE_PAUSE))


@pytest.fixture(autouse=True)
def _begun():
    """Somebody has looked before: what was there then is no news."""
    look()


def look() -> list[tuple[str, str]]:
    return names(look_once(ROOM, NOBODY))


def names(seen: Look) -> list[tuple[str, str]]:
    return [(raised.name.value, raised.key) for raised in seen.raised]


def test_jobs_of_a_worker_that_vanished():
    worker = make_worker("gpu-1")
    claimed(worker, queue="media")
    age(4000)
    reap_once()
    found = look()
    assert sorted(found) == [("stale_job_recovered", "media"), ("worker_offline", "gpu-1")]
    assert look() == [], "each event is judged once"


def test_attempts_that_are_used_up_and_a_subject_that_fails_again():
    job = job_in(Status.FAILED, queue="media", subject="cat.mp4", max_attempts=1)
    assert look() == [("job_max_retries_exceeded", "media")]
    retry(job.pk)
    finish_one(Outcome.failed(claimed(job=job), "broken again", fatal=True))
    assert look() == [("job_max_retries_exceeded", "media"), ("job_failed_pattern", "media: cat.mp4")]
    job_in(Status.FAILED, queue="media", subject="dog.mp4", max_attempts=3)
    assert look() == [], "another subject, and a fatal error with attempts left"


def test_a_failure_of_long_ago_is_no_pattern():
    job_in(Status.FAILED, subject="cat.mp4")
    age(2 * 86_400)
    look()
    job_in(Status.FAILED, subject="cat.mp4")
    assert look() == []


def test_jobs_that_wait_while_nobody_claims():
    make_job(queue="mail")
    assert look() == []
    age(65)
    assert look() == [("no_claims", "mail")]


def test_what_is_deleted_meanwhile_breaks_nothing():
    job = job_in(Status.FAILED, queue="media", subject="cat.mp4", max_attempts=1)
    job.delete()
    assert look() == []


def test_a_dry_look_says_the_same_and_writes_nothing():
    job_in(Status.FAILED, queue="media", max_attempts=1)
    before = AlertReading.objects.get().position
    assert names(dry_look()) == [("job_max_retries_exceeded", "media")]
    assert not Alert.objects.exists()
    assert AlertReading.objects.get().position == before
    assert look() == [("job_max_retries_exceeded", "media")]


def test_very_many_events_are_read_in_batches(monkeypatch):
    monkeypatch.setattr("jobs.selectors.alerts.MOST_EVENTS", 2)
    for _ in range(5):
        make_worker("flaky")
    mark_offline(Q(name="flaky"), "silent", ReapResult())
    assert look() == [("worker_offline", "flaky")] * 5
    assert look() == []


def test_an_idle_queue_takes_three_queries_at_most():
    job_in(Status.COMPLETED)
    look(), look()
    with CaptureQueriesContext(connection) as captured:
        assert look() == []
    assert len(captured) <= 3, [query["sql"] for query in captured]


def test_without_anybody_to_tell_nothing_is_asked():
    with CaptureQueriesContext(connection) as captured:
        assert look_in_turn() is None
    assert len(captured) == 0


def test_a_full_disk_is_told_of_by_its_own_machine_also_when_it_is_not_its_turn(settings, monkeypatch):
    settings.ADMINS = ["ann@example.org"] if django.VERSION >= (6, 0) else [("Ann", "ann@example.org")]
    monkeypatch.setattr(watching, "disks_here", lambda: (Disk("stored files on b", 1, 100),))
    assert names(look_in_turn() or Look()) == [("disk_low", "stored files on b")]
    monkeypatch.setattr(watching, "disks_here", lambda: (Disk("stored files on c", 1, 100),))
    assert names(look_in_turn() or Look()) == [("disk_low", "stored files on c")]
    monkeypatch.setattr(watching, "disks_here", lambda: ROOM)
    assert look_in_turn() is None, "it was not its turn"
    assert len(mail.outbox) == 2


@pytest.mark.postgres
def test_an_event_that_commits_late_is_not_missed(monkeypatch):
    """It got its number before others that were judged."""

    def commit_after_a_look() -> list[tuple[str, str]]:
        with transaction.atomic():
            JobEvent.objects.create(name=EventName.WORKER_OFFLINE, worker_name="late", reason="silent")
            [early] = together([event_and_look])
        return early

    def event_and_look() -> list[tuple[str, str]]:
        JobEvent.objects.create(name=EventName.WORKER_OFFLINE, worker_name="early", reason="silent")
        return look()

    with monkeypatch.context() as impatient:
        impatient.setattr("jobs.selectors.alerts.SETTLE_TRIES", SETTLE_TRIES)
        assert commit_after_a_look() == [], "while it runs, nobody can say what comes before"
    assert look() == [("worker_offline", "late"), ("worker_offline", "early")]
    assert look() == []


@pytest.mark.postgres
def test_of_ten_that_look_at_once_one_judges_each_event(settings, receiver):
    mark_offline(Q(pk=make_worker("gpu-1").pk), "silent", ReapResult())
    job_in(Status.FAILED, queue="media", max_attempts=1)
    together([partial(look_once, ROOM)] * 10)
    alerts = sorted(json.loads(heard.body)["alert"] for heard in receiver.heard)
    assert alerts == ["job_max_retries_exceeded", "worker_offline"]
    assert Alert.objects.filter(suppressed__gt=0).count() == 0


@pytest.mark.postgres
def test_of_ten_that_see_the_same_concern_one_sends_it(settings, receiver):
    make_job(queue="mail")
    age(65)
    together([partial(look_once, ROOM)] * 10)
    [heard] = receiver.heard
    told = json.loads(heard.body)["suppressed"]  # those that came before it was sent: the rest is for the next one
    assert told + Alert.objects.get().suppressed == 9
    assert AlertTotal.objects.values("raised", "suppressed", "sent").get() == {"raised": 10, "suppressed": 9, "sent": 1}
