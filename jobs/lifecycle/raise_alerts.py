"""Raise alerts: each is to be sent once, and then not again for a while, however many processes see the same."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q

from jobs.db import Now, transactional
from jobs.models import Alert, AlertReading, AlertTotal
from jobs.sanitise import clean_error, clean_json, clean_text
from jobs.states import AlertName

EVENTS = "events"  # the one reading there is
MOST_KEY, MOST_TEXT, MOST_DETAILS = 200, 2000, 4000  # characters, and bytes


@dataclass(frozen=True)
class Raised:
    """Something that people should know, and what helps. The same name and key is the same alert."""

    name: AlertName
    key: str
    text: str
    advice: str = ""
    grave: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def stored_key(self) -> str:
        return clean_text(self.key, MOST_KEY)

    def stored(self) -> dict[str, Any]:
        return {
            "text": clean_error(self.text, MOST_TEXT),
            "advice": clean_text(self.advice, MOST_TEXT),
            "grave": self.grave,
            "details": clean_json(self.details, MOST_DETAILS),
        }


@transactional
def raise_alerts(raised: Sequence[Raised], channels: Sequence[str]) -> None:
    """Have them sent over these channels; one that waits to be sent, or was sent lately, is only counted."""
    by_key = {(each.name.value, each.stored_key): each for each in raised}
    if not by_key:
        return
    Alert.objects.bulk_create(
        [Alert(name=name, key=key, raised_at=Now(), **each.stored()) for (name, key), each in by_key.items()],
        ignore_conflicts=True,
    )
    wanted = Q()
    for name, key in by_key:
        wanted |= Q(name=name, key=key)
    locked: Any = Alert.objects.filter(wanted).order_by("pk").select_for_update(no_key=True)
    suppressed: Counter[str] = Counter()
    for row in locked.annotate(now=Now()):
        is_held_back = row.due_at is not None or (row.quiet_until is not None and row.quiet_until > row.now)
        suppressed[row.name] += is_held_back
        if is_held_back:
            changes: dict[str, Any] = {"suppressed": F("suppressed") + 1}
        else:
            changes = {"due_at": Now(), "tries": 0, "channels": list(channels), "problem": ""}
        Alert.objects.filter(pk=row.pk).update(raised_at=Now(), **by_key[row.name, row.key].stored(), **changes)
    for name, number in Counter(name for name, _ in by_key).items():
        add_to_totals(name, raised=number, suppressed=suppressed[name])


@transactional
def raise_from_events(
    raised: Sequence[Raised], channels: Sequence[str], *, seen: int, now_seen: int, waiting: list[tuple[int, int]]
) -> bool:
    """Raise what the events from `seen` to `now_seen` say, unless somebody else has judged them meanwhile."""
    reading = AlertReading.objects.filter(pk=EVENTS, position=seen)
    if not reading.update(position=now_seen, waiting=waiting):
        return False
    raise_alerts(raised, channels)
    return True


@transactional
def begin_reading(position: int) -> None:
    """What was there before anybody wanted alerts is no news."""
    AlertReading.objects.bulk_create([AlertReading(name=EVENTS, position=position)], ignore_conflicts=True)


def add_to_totals(name: str, **numbers: int) -> None:
    AlertTotal.objects.bulk_create([AlertTotal(name=name)], ignore_conflicts=True)
    AlertTotal.objects.filter(pk=name).update(**{column: F(column) + number for column, number in numbers.items()})
