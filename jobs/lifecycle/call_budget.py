"""How many calls a caller has left in the present minute, over all web processes: each takes a portion at a time.

So the limit holds however many processes there are, and only one call of many writes a row.
"""

from datetime import timedelta

from jobs.db import Now, SecondsSince, transactional
from jobs.lifecycle.sql.insert import insert_new, now_sql
from jobs.models import CallBudget

MINUTE = 60.0  # seconds
KEPT = timedelta(hours=1)


@transactional
def take(name: str, limit: int, portion: int) -> tuple[int, float]:
    """So many calls, fewer if no more are left; and for how many seconds they count."""
    insert_new(CallBudget, {"name": "%s", "began_at": now_sql(), "taken": "0"}, [[name]], returning=["name"])
    budget = CallBudget.objects.annotate(age=SecondsSince("began_at")).select_for_update(no_key=True).get(name=name)
    mine = CallBudget.objects.filter(name=name)
    if not 0 <= budget.age < MINUTE:
        granted = min(portion, limit)
        mine.update(began_at=Now(), taken=granted)
        return granted, MINUTE
    granted = max(0, min(portion, limit - budget.taken))
    if granted:
        mine.update(taken=budget.taken + granted)
    return granted, MINUTE - budget.age


def forget_old() -> None:
    CallBudget.objects.filter(began_at__lt=Now() - KEPT).delete()
