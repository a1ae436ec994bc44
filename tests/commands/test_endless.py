"""`reap_stale --loop` and `queue_status --watch`: they go on until a signal, and then end at once."""

import json
import os
import pty
import select
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import Popen

import pytest
from django.db import connection

from jobs.models import Job
from jobs.states import Status
from tests.factories import age, claimed, make_job
from tests.manage import manage, start
from tests.patience import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def running(*arguments: str, **options) -> Iterator[Popen[str]]:
    process = start(*arguments, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def line_of(process: Popen[str]) -> str:
    """The next line it prints; its end, or silence, is an error."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"it ended: {process.communicate()[1]}"
    return line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", [["reap_stale", "--loop", "3600"], ["queue_status", "--watch", "3600"]])
def test_a_signal_ends_it_at_once_with_0(command, number):
    with running(*command, "--json") as process:
        line_of(process)
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert process.communicate() == ("", "")


def test_each_sweep_prints_one_document_a_line():
    ref = claimed()
    age(3600)
    with running("reap_stale", "--loop", "0.1", "--json") as process:
        first, second = json.loads(line_of(process)), json.loads(line_of(process))
    assert (first["requeued"], second["requeued"]) == ([ref.job_id], [])
    assert Job.objects.get().status == Status.PENDING


def test_as_text_the_loop_speaks_only_when_it_did_something():
    with running("reap_stale", "--loop", "0.1", stderr=None) as process:
        ref = claimed()
        age(3600)
        assert line_of(process) == f"Requeued: 1 job ({ref.job_id}).\n"


def test_the_watch_prints_again_and_again_where_there_is_no_terminal():
    make_job(queue="media")
    with running("queue_status", "--watch", "0.1") as process:
        printed = [line_of(process) for _ in range(12)]
    assert sum(line.startswith("QUEUE ") for line in printed) >= 2
    assert not any("\x1b" in line for line in printed)


@pytest.mark.postgres
def test_the_loop_survives_the_loss_of_its_connection():
    with running("reap_stale", "--loop", "0.2", "--json") as process:
        line_of(process)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert cursor.fetchone() == (1,)
        for _ in range(3):
            line_of(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
        assert process.stderr is not None
        assert process.stderr.read().count("ERROR") <= 1


def test_the_loop_says_once_that_the_database_is_away_and_goes_on_when_it_is_back(tmp_path):
    url = f"sqlite:///{tmp_path / 'later.sqlite3'}"
    with running("reap_stale", "--loop", "0.1", "--json", env={"DATABASE_URL": url}) as process:
        assert process.stderr is not None
        assert "The database could not do it: no such table" in process.stderr.readline()
        assert manage("migrate", "--verbosity", "0", DATABASE_URL=url).returncode == 0
        assert json.loads(line_of(process))["requeued"] == []
        assert "The database is back." in process.stderr.readline()


def read_until(screen: int, wanted: str, times: int = 1) -> str:
    """What the terminal got, up to and with the wanted text."""
    seen, until = "", time.monotonic() + PATIENCE
    while seen.count(wanted) < times:
        left = until - time.monotonic()
        assert left > 0, f"{wanted!r} did not come: {seen!r}"
        if select.select([screen], [], [], left)[0]:
            seen += os.read(screen, 4096).decode(errors="replace")
    return seen


@contextmanager
def on_a_terminal(*arguments: str, **env: str) -> Iterator[tuple[Popen[str], int]]:
    screen, terminal = pty.openpty()
    try:
        with running(*arguments, env=env, stdin=terminal, stdout=terminal) as process:
            yield process, screen
    finally:
        os.close(terminal)
        os.close(screen)


def test_on_a_terminal_the_watch_redraws_in_place_and_ctrl_c_ends_it_with_0():
    make_job(queue="media")
    with on_a_terminal("queue_status", "--watch", "0.1", COLUMNS="90", LINES="5") as (process, screen):
        seen = read_until(screen, "\x1b[H\x1b[J", times=3)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    page = seen.split("\x1b[H\x1b[J")[1]
    assert "Ctrl-C ends" in page
    assert "\x1b[1mQUEUE" in page
    assert page.count("\n") == 4, "it must not scroll a terminal of 5 lines"


def test_colour_is_for_a_terminal_unless_no_color_is_set():
    make_job()
    manage("cancel_jobs", "--kind", "test.noop")
    with on_a_terminal("list_jobs") as (_, screen):
        assert "\x1b[35mcancelled" in read_until(screen, "cancelled")
    with on_a_terminal("list_jobs", NO_COLOR="1") as (_, screen):
        assert "\x1b[35m" not in read_until(screen, "cancelled")
    assert "\x1b" not in manage("list_jobs").stdout
    assert "\x1b[35mcancelled" in manage("list_jobs", "--force-color").stdout
