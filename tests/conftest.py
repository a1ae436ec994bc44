"""What every test shares: the two engines, and a clean registry of kinds."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from jobs.handlers.registry import Kind, registry
from jobs.stop_signals import STOP_SIGNALS
from tests.variations import WANTED, is_variation

HERE = Path(__file__).parent
ON_TOP = (
    "admin/", "api/", "browser/", "commands/", "docs/", "project/", "tasks/", "testing/", "web/",
    "videos/test_a", "videos/test_p", "videos/test_file", "videos/test_library", "videos/test_retranscode",
    "videos/test_transcode_command", "videos/test_video_commands",
)  # fmt: skip
# Of these, what has queries of its own, or processes.
YET_BOTH = (
    "admin/test_dashboard", "admin/test_job_list", "admin/test_job_actions", "admin/test_periodic",
    "api/events/", "api/test_reads", "api/worker/test_anything", "api/worker/test_waiting",
    "commands/test_list_jobs", "commands/test_queue_status", "tasks/test_worker", "testing/test_drain",
    "videos/test_publish",
)  # fmt: skip
ON_SQLITE = ("worker/test_runworker", "worker/test_sharing")
ON_SQLITE_TOO = ("worker/test_crashes", "worker/test_outages")  # by `make test-all`
# What takes longest begins first: else one process would have it left when the others are done.
LONGEST = (
    "videos/test_crashes", "videos/test_split", "videos/test_transcode", "project/test_demo", "project/test_wheel",
    "worker/test_stubborn", "worker/test_crashes", "worker/test_runworker", "commands/test_endless",
    "contract/", "plans/", "browser/",
)  # fmt: skip
ALONE = ("chaos/test_chaos",)  # would be in the way of all that run beside it: `make test` has a step of its own for it
SOON = 5.0  # seconds
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup"}


def pytest_configure() -> None:
    """Under nohup, or in the background of a shell, signals are ignored, and so they would be by workers that we start.

    A function in their place ignores them for us, too, but is not handed on.
    """
    if threading.current_thread() is threading.main_thread():
        for number in STOP_SIGNALS:
            if signal.getsignal(number) == signal.SIG_IGN:
                signal.signal(number, lambda *_: None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The suite runs once on each engine: leave out what is about the other one, and do once what is about neither."""
    on_postgres = connection.vendor == "postgresql"
    is_left_out = is_left_out_on_postgres if on_postgres else is_left_out_on_sqlite
    if left_out := {item for item in items if is_left_out(item) or is_variation(name_of(item)) or is_for_later(item)}:
        config.hook.pytest_deselected(items=list(left_out))
        items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: not place_of(item).startswith(LONGEST))


def place_of(item: pytest.Item) -> str:
    return item.path.relative_to(HERE).as_posix()


def name_of(item: pytest.Item) -> str:
    return f"{place_of(item)}::{item.name}"


def is_for_later(item: pytest.Item) -> bool:
    return "PYTEST_XDIST_WORKER" in os.environ and place_of(item).startswith(ALONE)


def is_left_out_on_sqlite(item: pytest.Item) -> bool:
    return item.get_closest_marker("postgres") is not None or is_about_processes(item)


def is_about_processes(item: pytest.Item) -> bool:
    """Real workers, whatever their database: on PostgreSQL all of them run, and here a few stand for all."""
    place = place_of(item)
    is_real = place.startswith("worker/") and "stage" in getattr(item, "fixturenames", ())
    standing = (*ON_SQLITE, *ON_SQLITE_TOO) if WANTED else ON_SQLITE
    return is_real and not place.startswith(standing) and not is_left_out_on_postgres(item)


def is_left_out_on_postgres(item: pytest.Item) -> bool:
    if item.get_closest_marker("postgres"):
        return False
    if any(item.get_closest_marker(name) for name in ("sqlite", "once")):
        return True
    return not asks_for_a_database(item) or is_on_top(item)


def is_on_top(item: pytest.Item) -> bool:
    """Pages, commands and calls over verbs and reads that run on both engines: of these a few stand for all."""
    place = place_of(item)
    return place.startswith(ON_TOP) and not place.startswith(YET_BOTH)


def asks_for_a_database(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("django_db") is not None or not fixtures.isdisjoint(DATABASE_FIXTURES)


@pytest.fixture(autouse=True)
def _noop_kind() -> Iterator[None]:
    """A kind that does nothing, for tests that are not about handlers."""
    registry.add(Kind("test.noop", lambda context, **payload: None, spawns=("test.noop",)))
    yield
    registry.remove("test.noop")


@pytest.fixture(autouse=True)
def _no_thread_left_behind() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(SOON)  # one whose connection was closed a moment ago is about to end
    left = [thread.name for thread in set(threading.enumerate()) - before]
    assert not left, f"the test left threads behind: {left}"
