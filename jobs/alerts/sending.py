"""Sends alerts: to JOBS_ALERT_WEBHOOK_URL, and by mail to ADMINS. What cannot be sent is tried again, some times."""

import logging
import smtplib
from dataclasses import dataclass
from time import monotonic, time
from typing import Any

from django.conf import settings
from django.core.mail import get_connection, mail_admins

from jobs.alerts.formats import as_mail, body_of
from jobs.conf import conf
from jobs.exceptions import SendFailed, SendRefused
from jobs.lifecycle.send_alerts import AlertToSend, record_alert, take_alert
from jobs.sanitise import clean_error
from jobs.web_address import ANYWHERE
from jobs.webhooks.sender import post
from jobs.webhooks.signing import headers

logger = logging.getLogger("jobs.alerts")
WEBHOOK, MAIL = "webhook", "mail"
MOST_SECONDS = 60.0  # in which a look still begins to send
MOST_PROBLEM = 300


@dataclass
class Sending:
    sent: int = 0
    not_sent: int = 0


def channels() -> list[str]:
    """Who is to be told: nobody, unless settings say so."""
    return [WEBHOOK] * bool(conf.ALERT_WEBHOOK_URL) + [MAIL] * bool(settings.ADMINS)


def send_due() -> Sending:
    """One after the other, each recorded before the next, so that what is sent twice is one at most."""
    sending, began = Sending(), monotonic()
    while monotonic() - began < MOST_SECONDS and (alert := take_alert()):
        problems = {channel: problem for channel in alert.channels if (problem := try_over(channel, alert))}
        told = "; ".join(f"{channel}: {problem}" for channel, problem in problems.items())
        record_alert(alert, list(problems), told)
        sending.sent += not problems
        sending.not_sent += bool(problems)
        level = logging.WARNING if problems else logging.INFO
        logger.log(level, "alert %s name=%s key=%s try=%d error=%r", "not sent" if problems else "sent",
                   alert.name, alert.key, alert.tries, told)  # fmt: skip
    return sending


def try_over(channel: str, alert: AlertToSend) -> str:
    """What went wrong, or nothing. A receiver that was taken out of the settings is not missed."""
    if channel not in channels():
        return ""
    try:
        return by_webhook(alert) if channel == WEBHOOK else by_mail(alert)
    except (SendFailed, SendRefused, OSError, smtplib.SMTPException) as error:
        return clean_error(error, MOST_PROBLEM)
    except Exception as error:  # a mail backend may raise anything; the other alerts must go out all the same
        logger.exception("an alert could not be sent name=%s over=%s", alert.name, channel)
        return clean_error(f"{type(error).__name__}: {error}", MOST_PROBLEM)


def by_webhook(alert: AlertToSend) -> str:
    """The operator names this address in the settings, so that it may be private and without TLS, unlike any that
    comes with a job. It is called with the same care otherwise: one deadline for all, no redirects."""
    body = body_of(alert, conf.ALERT_FORMAT)
    message_id = f"alert_{alert.id}_{int(alert.raised_at.timestamp())}"
    signed = headers(conf.WEBHOOK_SECRET, message_id, int(time()), body)
    content = {"Content-Type": "application/json; charset=utf-8"}
    answer = post(conf.ALERT_WEBHOOK_URL, body, content | signed, timeout=conf.ALERT_TIMEOUT, policy=ANYWHERE)
    return "" if answer.is_good else f"It answered {answer.status}."


def by_mail(alert: AlertToSend) -> str:
    subject, text = as_mail(alert)
    connection: Any = get_connection()
    if getattr(connection, "timeout", 0) is None:  # EMAIL_TIMEOUT is not set, and SMTP would wait for good
        connection.timeout = conf.ALERT_TIMEOUT
    mail_admins(subject, text, connection=connection)
    return ""
