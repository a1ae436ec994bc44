"""Alerts on their way: whoever sends one takes it for a while, and records what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Now as StatementNow

from jobs.conf import conf
from jobs.db import Now, transactional
from jobs.lifecycle.raise_alerts import add_to_totals
from jobs.models import Alert
from jobs.sanitise import clean_error

MARGIN = 30.0  # seconds on top of what sending may take
FIRST_WAIT, GROWTH, LONGEST_WAIT = 30.0, 4.0, 900.0
MOST_PROBLEM = 500
KEPT = timedelta(days=7)


@dataclass(frozen=True)
class AlertToSend:
    """An alert that is ours to send for a while: the number of its try guards what is written of it."""

    id: int
    name: str
    key: str
    text: str
    advice: str
    grave: bool
    details: dict[str, Any]
    raised_at: datetime
    suppressed: int
    channels: tuple[str, ...]
    tries: int


@transactional
def take_alert() -> AlertToSend | None:
    """One that is due; should its sender die, it is due again later."""
    due = Alert.objects.filter(due_at__lte=StatementNow()).order_by("-grave", "due_at", "pk")
    row = due.select_for_update(no_key=True, skip_locked=True).first()
    if row is None:
        return None
    lease = timedelta(seconds=2 * conf.ALERT_TIMEOUT + MARGIN)
    Alert.objects.filter(pk=row.pk).update(tries=F("tries") + 1, due_at=Now() + lease)
    return AlertToSend(
        row.pk, row.name, row.key, row.text, row.advice, row.grave, row.details, row.raised_at, row.suppressed,
        tuple(row.channels), row.tries + 1,
    )  # fmt: skip


@transactional
def record_alert(alert: AlertToSend, left: Sequence[str], problem: str = "") -> None:
    """Who is `left` could not be told. One that somebody else has taken over meanwhile is theirs to record."""
    row = (
        Alert.objects.select_for_update(no_key=True)
        .filter(pk=alert.id, tries=alert.tries, due_at__isnull=False)
        .first()
    )
    if row is None:
        return
    quiet = {"due_at": None, "tries": 0, "quiet_until": Now() + timedelta(seconds=conf.ALERT_COOLDOWN)}
    changes: dict[str, Any] = {"channels": list(left), "problem": clean_error(problem, MOST_PROBLEM)}
    if not left:
        changes |= quiet | {"sent_at": Now(), "suppressed": max(0, row.suppressed - alert.suppressed)}
        add_to_totals(row.name, sent=1)
    elif alert.tries >= conf.ALERT_TRIES:
        changes |= quiet | {"suppressed": row.suppressed + 1}  # nobody was told: the next one says so
        add_to_totals(row.name, given_up=1)
    else:
        changes["due_at"] = Now() + timedelta(seconds=wait_after(alert.tries))
    Alert.objects.filter(pk=row.pk).update(**changes)


def wait_after(tries: int) -> float:
    """30 s, 2 min, 8 min, then a quarter of an hour."""
    return float(min(FIRST_WAIT * GROWTH ** (min(tries, 10) - 1), LONGEST_WAIT))


def forget_old_alerts() -> None:
    """What has not been raised for a week; the totals stay."""
    kept = max(KEPT, timedelta(seconds=conf.ALERT_COOLDOWN))
    Alert.objects.filter(due_at=None, raised_at__lt=Now() - kept).delete()
