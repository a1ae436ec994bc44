"""Turns: of the many that offer to do a chore, one does it, about once per interval."""

from datetime import timedelta

from jobs.db import Now, transactional
from jobs.lifecycle.sql.insert import insert_new, now_sql
from jobs.models import Turn

# Who asks each interval does so with a jitter of a fifth: were the whole interval over only then, one that comes a
# little early would be sent away, and the chore be done half as often.
SHARE = 0.75
KEPT = timedelta(days=1)  # machines and containers come and go


@transactional
def take(name: str, interval: float) -> bool:
    """Whether the caller is to do the chore now: the row says yes to one, and then to none for a while."""
    over = Now() - timedelta(seconds=SHARE * interval)
    if Turn.objects.filter(name=name, taken_at__lte=over).update(taken_at=Now()):
        return True
    return bool(insert_new(Turn, {"name": "%s", "taken_at": now_sql()}, [[name]], returning=["name"]))


@transactional
def note(name: str) -> None:
    """Somebody did the chore without asking, by hand or by cron: it is not anybody's turn for a while."""
    if not Turn.objects.filter(name=name).update(taken_at=Now()):
        insert_new(Turn, {"name": "%s", "taken_at": now_sql()}, [[name]], returning=["name"])


def forget_old() -> None:
    """Those of machines: their names go on after a space. A chore of all may be due once a week."""
    Turn.objects.filter(name__contains=" ", taken_at__lt=Now() - KEPT).delete()
