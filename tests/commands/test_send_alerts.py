"""`send_alerts`: the look that cron has."""

import pytest

from jobs.models import Alert, Turn
from jobs.selectors import alerts
from tests.alerts.conftest import receiver  # noqa: F401  a fixture
from tests.commands.calls import Refusal, refused, run, run_json
from tests.factories import age, make_job
from tests.webhooks.receiver import Receiver

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch):
    """The test's own transaction would be waited for: on PostgreSQL its events are not judged here."""
    monkeypatch.setattr(alerts, "SETTLE_TRIES", 0)


def test_it_sends_and_says_what(receiver: Receiver):  # noqa: F811
    make_job(queue="mail")
    age(65)
    said = run("send_alerts")
    assert "no_claims" in said
    assert "Sent: 1 alert." in said
    assert len(receiver.heard) == 1
    assert Turn.objects.filter(name="alerts").exists(), "workers need not look for a while"
    again = run_json("send_alerts")
    assert (again["raised"][0]["name"], again["sent"], len(receiver.heard)) == ("no_claims", 0, 1)


def test_what_cannot_be_sent_is_said(receiver: Receiver):  # noqa: F811
    receiver.answers = [500]
    make_job(queue="mail")
    age(65)
    assert "Not sent, to be tried again: 1 alert." in run("send_alerts")


def test_a_dry_run_needs_nobody_to_tell_and_writes_nothing():
    make_job(queue="mail")
    age(65)
    said = run("send_alerts", "--dry-run")
    assert "no_claims" in said
    assert said.endswith("Dry run: nothing was sent.\n")
    assert not Alert.objects.exists()
    run("send_alerts", "--dry-run", "--json")


def test_without_anybody_to_tell_it_refuses():
    assert refused("send_alerts") == Refusal(
        2, "There is nobody to tell: set JOBS_ALERT_WEBHOOK_URL, or ADMINS in Django's settings."
    )
