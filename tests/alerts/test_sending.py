"""Alerts on their way, to a real HTTP server and into a mailbox: formats, failures, secrets, deadlines."""

import json
import logging
from dataclasses import replace

import django
import pytest
from django.core import mail

from jobs.alerts.formats import as_discord, as_mail, as_slack
from jobs.alerts.sending import Sending, channels, send_due
from jobs.lifecycle.raise_alerts import Raised, raise_alerts
from jobs.lifecycle.send_alerts import AlertToSend, take_alert
from jobs.models import Alert
from jobs.states import AlertName
from tests.factories import shift
from tests.webhooks.receiver import Receiver, dripping, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def admins(settings):
    settings.ADMINS = ["ann@example.org"] if django.VERSION >= (6, 0) else [("Ann", "ann@example.org")]


def raise_one(text: str = "20,000 jobs wait in mail.", advice: str = "Add workers.", *, grave: bool = True) -> None:
    raise_alerts([Raised(AlertName.QUEUE_DEPTH_HIGH, "mail", text, advice, grave, {"queue": "mail"})], channels())


def an_alert(**changes) -> AlertToSend:
    raise_one()
    alert = take_alert()
    assert alert
    return replace(alert, **changes)


def test_json_says_all_of_it(receiver: Receiver):
    raise_one()
    assert send_due() == Sending(sent=1)
    [heard] = receiver.wait_for()
    said = json.loads(heard.body)
    assert heard.path == "/alerts"
    assert heard.headers["content-type"].startswith("application/json")
    assert said["alert"] == "queue_depth_high"
    assert (said["key"], said["severity"], said["suppressed"]) == ("mail", "critical", 0)
    assert said["details"] == {"queue": "mail"}
    assert said["raised_at"].endswith("Z")


def test_it_is_signed_where_there_is_a_secret(receiver: Receiver, monkeypatch):
    monkeypatch.setenv("JOBS_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    raise_one()
    send_due()
    assert receiver.wait_for()[0].headers["webhook-signature"].startswith("v1,")


@pytest.mark.parametrize(("form", "field"), [("slack", "text"), ("discord", "content")])
def test_slack_and_discord_get_their_own_format(receiver: Receiver, settings, form, field):
    settings.JOBS_ALERT_FORMAT = form
    raise_one("Nobody claims.")
    send_due()
    assert json.loads(receiver.wait_for()[0].body)[field].startswith("[critical] queue_depth_high: Nobody claims.")


def test_nobody_is_called_by_what_a_subject_says():
    alert = an_alert(text="<!channel> @everyone & <@U1>")
    assert "&lt;!channel&gt; @everyone &amp;" in as_slack(alert)["text"]
    assert as_discord(alert)["allowed_mentions"] == {"parse": []}


def test_long_ones_fit_and_the_next_tells_how_many_were_held_back():
    alert = an_alert(text="x" * 9000, suppressed=3)
    assert len(as_discord(alert)["content"]) == 2000
    assert "Raised 3 more times since the last message." in as_mail(alert)[1]
    assert "\n" not in as_mail(replace(alert, text="a\nBcc: all@example.org"))[0]


@pytest.mark.usefixtures("admins")
def test_admins_get_a_mail():
    raise_one()
    assert send_due() == Sending(sent=1)
    [message] = mail.outbox
    assert message.to == ["ann@example.org"]
    assert "20,000 jobs wait in mail." in message.subject
    assert "Add workers." in message.body


@pytest.mark.usefixtures("admins")
def test_who_was_told_is_not_told_again_when_another_could_not_be(receiver: Receiver):
    receiver.answers = [500]
    raise_one()
    assert send_due() == Sending(not_sent=1)
    assert Alert.objects.get().problem == "webhook: It answered 500."
    shift(Alert, 31)
    assert send_due() == Sending(sent=1)
    assert (len(mail.outbox), len(receiver.heard)) == (1, 2)


def test_redirects_are_not_followed(receiver: Receiver):
    receiver.answers = [lambda request: say(request, 302, location=receiver.url("/elsewhere"))]
    raise_one()
    assert send_due() == Sending(not_sent=1)
    assert [heard.path for heard in receiver.heard] == ["/alerts"]


def test_a_receiver_that_drips_costs_no_more_than_the_timeout(receiver: Receiver, settings):
    settings.JOBS_ALERT_TIMEOUT = 0.3
    receiver.answers = [dripping(receiver, b"HTTP/1.1 200 OK\r\nX-Slow: ")]
    raise_one()
    assert send_due() == Sending(not_sent=1)
    assert "longer than 0.3 s" in Alert.objects.get().problem


def test_the_secret_in_the_url_is_in_no_log_and_no_row(receiver: Receiver, settings, caplog):
    settings.JOBS_ALERT_WEBHOOK_URL = receiver.url("/services/T0/s3cr3t")
    receiver.answers = [403]
    caplog.set_level(logging.DEBUG)
    raise_one()
    send_due()
    assert "s3cr3t" not in caplog.text + str(Alert.objects.values())
    assert caplog.records, "but something is said of it"


@pytest.mark.usefixtures("admins")
def test_a_mail_backend_that_breaks_is_survived(settings, caplog):
    settings.EMAIL_BACKEND = "tests.alerts.broken_mail.Backend"
    raise_one()
    assert send_due() == Sending(not_sent=1)
    assert "RuntimeError: no post today" in Alert.objects.get().problem


@pytest.mark.usefixtures("admins")
def test_a_channel_that_was_taken_out_of_the_settings_is_not_missed(settings):
    raise_one()
    settings.ADMINS = []
    assert send_due() == Sending(sent=1)
    assert not mail.outbox
