"""What is wrong with an entry of TASKS, said with the entry, its value and the fix."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.apps import apps
from django.core import checks

from jobs.exceptions import InvalidInput
from jobs.handlers.kind_options import checked_options
from jobs.tasks.task import RUN_OPTIONS

APP = "jobs"


def problems_of_settings(alias: str, params: Mapping[str, Any]) -> Iterator[checks.CheckMessage]:
    yield from missing_apps(alias)
    yield from wrong_queues(alias, params.get("QUEUES", []))
    yield from wrong_options(alias, params.get("OPTIONS", {}))
    if "ENQUEUE_ON_COMMIT" in params:
        yield checks.Info(
            f"TASKS[{alias!r}]['ENQUEUE_ON_COMMIT'] is not read: a task is a row of your own transaction, "
            "and no worker sees it before the commit.",
            hint="Remove it.",
            id="jobs.I001",
        )


def missing_apps(alias: str) -> Iterator[checks.CheckMessage]:
    if not apps.is_installed(APP):
        yield checks.Error(
            f"TASKS[{alias!r}] uses JobyardBackend, but the app {APP!r} is not installed.",
            hint=f"Add {APP!r} to INSTALLED_APPS and run `manage.py migrate`.",
            id="jobs.E020",
        )


def wrong_queues(alias: str, queues: Any) -> Iterator[checks.CheckMessage]:
    from jobs.lifecycle.new_job import check_queue

    if isinstance(queues, (str, bytes)) or not isinstance(queues, (list, tuple, set, frozenset)):
        yield checks.Error(
            f"TASKS[{alias!r}]['QUEUES'] is {queues!r}, but it must be a list of names.",
            hint="Write ['default'], or [] to allow any name.",
            id="jobs.E021",
        )
        return
    for name in queues:
        try:
            check_queue(name)
        except InvalidInput as error:
            yield checks.Error(f"TASKS[{alias!r}]['QUEUES']: {error}", hint="Rename this queue.", id="jobs.E021")


def wrong_options(alias: str, options: Any) -> Iterator[checks.CheckMessage]:
    where, known = f"TASKS[{alias!r}]['OPTIONS']", ", ".join(RUN_OPTIONS)
    if not isinstance(options, dict):
        yield checks.Error(f"{where} is {options!r}, but it must be a dict.", hint="Remove it.", id="jobs.E022")
        return
    for name, value in options.items():
        if name not in RUN_OPTIONS:
            yield checks.Warning(
                f"{where} has {name!r}, which JobyardBackend does not read.",
                hint=f"Remove it; it reads {known}.",
                id="jobs.W020",
            )
            continue
        try:
            checked_options("TASKS", {name: value})
        except InvalidInput as error:
            yield checks.Error(f"{where}: {error}", hint="Correct it, or leave it out.", id="jobs.E022")
