"""A kind that older workers do not know."""

from jobs import handler
from jobs.handlers.context import Context
from tests.app.history import note


@handler("newer.short")
def short(ctx: Context, history: str, gate: str) -> None:
    note(history, "start", ctx)
    note(history, "end", ctx)
