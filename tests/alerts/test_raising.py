"""Alerts in the database: sent once, quiet for a while, counted meanwhile, tried again when they cannot be sent."""

import pytest

from jobs.lifecycle.raise_alerts import Raised, raise_alerts
from jobs.lifecycle.send_alerts import AlertToSend, forget_old_alerts, record_alert, take_alert
from jobs.models import Alert, AlertTotal
from jobs.selectors.alerts import alert_totals
from jobs.states import AlertName
from tests.factories import shift

pytestmark = pytest.mark.django_db
OVER = ["webhook", "mail"]


def raise_one(key: str = "mail", text: str = "deep", name: AlertName = AlertName.QUEUE_DEPTH_HIGH) -> None:
    raise_alerts([Raised(name, key, text)], OVER)


def taken() -> AlertToSend:
    alert = take_alert()
    assert alert is not None
    return alert


def later(seconds: float) -> None:
    shift(Alert, seconds)


def test_it_is_taken_once_with_all_that_is_to_be_sent():
    raise_alerts([Raised(AlertName.NO_CLAIMS, "mail", "text", "advice", True, {"queue": "mail"})], OVER)
    alert = taken()
    assert (alert.name, alert.key, alert.text, alert.advice, alert.grave) == (
        "no_claims",
        "mail",
        "text",
        "advice",
        True,
    )
    assert (alert.details, alert.channels, alert.suppressed, alert.tries) == (
        {"queue": "mail"},
        ("webhook", "mail"),
        0,
        1,
    )
    assert take_alert() is None


def test_the_same_is_not_sent_again_within_the_cooldown_and_the_next_says_how_often_it_was_raised():
    raise_one()
    record_alert(taken(), [])
    raise_one(text="deeper")
    raise_one(text="deepest")
    assert take_alert() is None
    later(301)
    assert take_alert() is None, "it is sent when it is raised, not when the cooldown is over"
    raise_one(text="and again")
    alert = taken()
    assert (alert.suppressed, alert.text) == (2, "and again")
    record_alert(alert, [])
    assert Alert.objects.get().suppressed == 0


def test_other_keys_and_other_names_are_other_alerts():
    raise_one("mail")
    raise_one("media")
    raise_one("mail", name=AlertName.NO_CLAIMS)
    assert {(alert.name, alert.key) for alert in (taken(), taken(), taken())} == {
        ("queue_depth_high", "mail"), ("queue_depth_high", "media"), ("no_claims", "mail"),
    }  # fmt: skip


def test_what_is_raised_while_it_is_being_sent_is_in_the_next_one():
    raise_one()
    alert = taken()
    raise_one()
    record_alert(alert, [])
    later(301)
    raise_one()
    assert taken().suppressed == 1


def test_whom_it_did_not_reach_is_tried_again_and_only_they(settings):
    raise_one()
    record_alert(taken(), ["mail"], "mail: no server")
    assert take_alert() is None, "not at once"
    later(31)
    again = taken()
    assert (again.channels, again.tries) == (("mail",), 2)
    assert Alert.objects.get().problem == "mail: no server"


def test_it_is_given_up_after_some_tries_and_the_next_one_says_so(settings):
    settings.JOBS_ALERT_TRIES = 2
    raise_one()
    record_alert(taken(), ["webhook"], "down")
    later(1000)
    record_alert(taken(), ["webhook"], "down")
    later(100)
    assert take_alert() is None
    raise_one()
    assert take_alert() is None, "who could not be reached is left alone for the cooldown"
    later(301)
    raise_one()
    assert taken().suppressed == 2
    assert alert_totals()["queue_depth_high", "given_up"] == 1


def test_one_whose_sender_died_is_taken_over_and_the_dead_records_nothing():
    raise_one()
    first = taken()
    later(60)
    second = taken()
    record_alert(first, ["webhook"], "late")
    assert Alert.objects.get().problem == ""
    record_alert(second, [])
    record_alert(first, ["webhook"], "later still")
    assert Alert.objects.get().due_at is None


def test_totals_only_grow_also_when_old_alerts_are_forgotten():
    raise_one()
    raise_one()
    record_alert(taken(), [])
    later(8 * 86_400)
    forget_old_alerts()
    assert not Alert.objects.exists()
    total = AlertTotal.objects.get()
    assert (total.raised, total.sent, total.suppressed, total.given_up) == (2, 1, 1, 0)


def test_one_that_is_still_to_be_sent_is_not_forgotten():
    raise_one()
    later(8 * 86_400)
    forget_old_alerts()
    assert take_alert()


def test_hostile_texts_are_stored():
    raise_alerts(
        [Raised(AlertName.JOB_FAILED_PATTERN, "k\x00" * 500, "t\x00\ud800" * 5000, details={"a": "\x00"})], OVER
    )
    alert = taken()
    assert len(alert.key) <= 200
    assert len(alert.text) <= 2000
    assert "\x00" not in alert.key + alert.text
