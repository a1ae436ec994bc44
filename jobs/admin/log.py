"""Django's admin log: who did what, in words, for each row or for many at once."""

from collections.abc import Iterable

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.http import HttpRequest

NAMES = 200  # characters that the log keeps of a name


def log(
    request: HttpRequest, model: type[Model], rows: Iterable[tuple[object, str]], message: str, flag: int = CHANGE
) -> None:
    """One entry for each row: its id (None: for many) and what it is called."""
    content_type = ContentType.objects.get_for_model(model, for_concrete_model=False)
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=request.user.pk,  # type: ignore[misc]  # whoever acts is logged in
            content_type=content_type,
            object_id=None if key is None else str(key),
            object_repr=name[:NAMES],
            action_flag=flag,
            change_message=message,
        )
        for key, name in rows
    )


def by(request: HttpRequest) -> str:
    """For the history of a job, a worker or a queue."""
    return f"by {request.user}"
