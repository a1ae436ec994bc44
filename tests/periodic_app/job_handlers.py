"""A job for every second."""

from jobs import handler, periodic
from jobs.handlers.context import Context


@periodic(every=1, payload={"said": "tick"})
@periodic("0 3 29 2 *", name="leap", timezone="Europe/Berlin")
@handler("periodic_app.tick")
def tick(ctx: Context, said: str = "") -> str:
    return said
