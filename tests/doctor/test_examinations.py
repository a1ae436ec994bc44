"""Each examination, made to complain; and a healthy site, where none does."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import F

from jobs.doctor import database, machine, queue, tables
from jobs.doctor import settings as doctor_settings
from jobs.doctor.examination import EXAMINATIONS, Examine, Finding, Level, Report
from jobs.doctor.round import examine_all, report_of
from jobs.lifecycle.queues import pause
from jobs.models import Worker
from jobs.selectors.concerns import Disk
from jobs.videos import doctor_checks as videos
from tests.commands.calls import refused, run
from tests.factories import age, claimed, make_job, make_worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _places(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path / "media"
    settings.JOBS_WORK_DIR = str(tmp_path / "work")


def told(examine: Examine) -> str:
    return "\n".join(f"{each.level}: {each.text} → {each.fix}" for each in examine())


def test_a_healthy_site(monkeypatch):
    make_worker("all")
    monkeypatch.setitem(EXAMINATIONS, "encoders", lambda: iter(()))  # tried below, and slow
    real = database.parameter  # the tests' own server need not survive a power cut
    monkeypatch.setattr(database, "parameter", lambda name: "on" if name == "fsync" else real(name))
    reports = examine_all()
    assert [report.name for report in reports if report.is_bad] == []
    assert {"settings", "migrations", "indexes", "storage", "ffmpeg", "encoders"} <= {report.name for report in reports}


# Settings


def test_settings_that_cannot_work(settings):
    settings.JOBS_HEARTBEAT_INTERVAL = 0
    assert "wrong: JOBS_HEARTBEAT_INTERVAL is 0" in told(doctor_settings.system_checks)


def test_debug(settings):
    settings.DEBUG = False
    assert told(doctor_settings.debug) == ""
    settings.DEBUG = True
    assert "Set DEBUG=0" in told(doctor_settings.debug)


def test_nobody_to_tell(settings):
    assert "advice: Nobody is told" in told(doctor_settings.alerts)
    settings.JOBS_ALERT_WEBHOOK_URL = "https://example.org/hook"
    assert told(doctor_settings.alerts) == ""


def test_nobody_reaps(settings):
    settings.JOBS_REAP_INTERVAL = 0
    assert "reap_stale" in told(doctor_settings.reaping)


# The database


@pytest.mark.postgres
def test_an_old_server(monkeypatch):
    assert told(database.version) == ""
    monkeypatch.setattr(database, "OLDEST", 990_000)
    assert "needs 15 or newer" in told(database.version)


@pytest.mark.postgres
def test_parameters_that_lose_jobs():
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = off")
    assert "advice: synchronous_commit is off" in told(database.parameters)


@pytest.mark.postgres
@pytest.mark.parametrize("name", ["autovacuum", "fsync"])
def test_parameters_of_the_server(monkeypatch, name):
    real = database.parameter
    monkeypatch.setattr(database, "parameter", lambda asked: "off" if asked == name else real(asked))
    assert f"wrong: {name} is off" in told(database.parameters)


@pytest.mark.sqlite
def test_a_journal_that_makes_everybody_wait(monkeypatch):
    assert told(database.journal) == ""
    with connection.execute_wrapper(lambda execute, sql, *rest: execute("SELECT 'delete'", *rest)):
        assert "journal_mode=WAL" in told(database.journal)


@pytest.mark.postgres
def test_more_workers_than_connections():
    make_worker("small")
    assert told(database.connections) == ""
    make_worker("large", slots=5000)
    assert "max_connections = " in told(database.connections)


def test_transactions_that_stay_open(monkeypatch):
    assert told(database.transactions) == ""
    monkeypatch.setattr(database, "open_transactions", lambda: (700.0, 90.0))
    said = told(database.transactions)
    assert "wrong: A transaction has been open for 11m40s" in said
    assert "advice: A connection has been idle in a transaction for 1m30s" in said


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_transaction_of_somebody_else_is_seen(settings):
    begun, over = threading.Event(), threading.Event()

    def forget_to_commit() -> None:
        try:
            with connection.cursor() as cursor:
                cursor.execute("BEGIN")
                cursor.execute("SELECT 1")
            begun.set()
            over.wait(20)
        finally:
            connection.close()

    thread = threading.Thread(target=forget_to_commit)
    thread.start()
    try:
        assert begun.wait(20)
        oldest, idle = database.open_transactions()
        assert 0 < idle <= oldest < 60
    finally:
        over.set()
        thread.join(20)


def test_clocks_that_are_apart(monkeypatch):
    assert told(database.clock) == ""
    real = database.database_now
    monkeypatch.setattr(database, "database_now", lambda: real() - timedelta(seconds=90.9))
    assert "1m30s apart" in told(database.clock)


def test_workers_that_are_silent_or_of_the_future():
    worker = make_worker("w")
    assert told(database.heartbeats) == ""
    age(400)
    assert "silent for 6m40s" in told(database.heartbeats)
    Worker.objects.filter(pk=worker.pk).update(last_heartbeat=F("last_heartbeat") + timedelta(seconds=1000))
    assert "in the future" in told(database.heartbeats)


# The tables


def test_a_migration_that_was_not_applied():
    [(app, newest)] = MigrationLoader(connection).graph.leaf_nodes("jobs")
    MigrationRecorder(connection).record_unapplied(app, newest)
    assert f"{newest} not applied" in told(tables.migrations)


def test_an_index_that_somebody_dropped_and_the_command_repairs_it():
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX job_ready")
    [finding] = tables.indexes()
    assert "job_ready of jobs_job is missing" in finding.text
    with connection.cursor() as cursor:
        cursor.execute(finding.fix)
    assert told(tables.indexes) == ""


def test_tables_that_are_missing_are_told_together():
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE jobs_turn")
        cursor.execute("DROP TABLE jobs_servicebeat")
    [finding] = tables.indexes()
    assert (finding.text, finding.fix) == (
        "Missing tables: jobs_servicebeat, jobs_turn.",
        "Run `manage.py migrate`.",
    )


@pytest.mark.postgres
def test_an_index_that_is_broken():
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'job_ready'::regclass")
    assert 'REINDEX INDEX CONCURRENTLY "job_ready"' in told(tables.broken_indexes)


@pytest.mark.postgres
def test_dead_rows(monkeypatch):
    assert told(tables.dead_rows) == ""
    monkeypatch.setattr(tables, "DEAD", "SELECT 'jobs_job', %s + 1, 5")
    assert 'VACUUM (ANALYZE) "jobs_job"' in told(tables.dead_rows)


# The queue


def test_leases_that_nobody_takes_back():
    claimed(make_worker())
    age(200)
    assert told(queue.expired_leases) == "", "the reaper may be about to look"
    age(4000)
    assert "1 job was over long ago" in told(queue.expired_leases)


def test_a_kind_that_nobody_knows():
    make_job("no.such.kind", allow_unknown=True)
    make_job()
    assert told(queue.unknown_kinds).count("→") == 1
    assert "cancel_jobs --kind no.such.kind" in told(queue.unknown_kinds)


def test_a_queue_that_nobody_serves():
    make_job(queue="mail"), make_job(queue="media")
    make_worker("a", queues=["mail"])
    assert told(queue.unserved_queues).count("→") == 1
    assert "runworker --queue media" in told(queue.unserved_queues)
    make_worker("b")
    assert told(queue.unserved_queues) == ""


def test_a_queue_that_was_left_paused():
    make_job(queue="mail")
    pause("mail")
    assert "resume_queue mail" in told(queue.paused_queues)
    assert told(queue.unserved_queues) == ""


# The machine


def test_a_work_directory_that_cannot_be_written_to(settings, tmp_path):
    (tmp_path / "file").touch()
    settings.JOBS_WORK_DIR = str(tmp_path / "file" / "inside")
    assert "Set JOBS_WORK_DIR" in told(machine.work_directory)


def test_a_full_disk(monkeypatch):
    assert told(machine.room) == ""
    monkeypatch.setattr(machine, "disks_here", lambda: (Disk("stored files on here", 1, 100),))
    assert "Only 1.0% is free" in told(machine.room)


def test_a_storage_that_does_not_answer(settings, tmp_path):
    (tmp_path / "file").touch()
    settings.MEDIA_ROOT = tmp_path / "file"
    assert "cannot be used" in told(machine.storage)


def test_the_storage_is_left_as_it_was(tmp_path):
    assert told(machine.storage) == ""
    assert list((tmp_path / "media").iterdir()) == []


@pytest.mark.parametrize(("reply", "fine"), [(b"+PONG\r\n", True), (b"-NOAUTH\r\n", True), (b"HTTP/1.1 400", False)])
def test_redis_is_asked_where_it_is_configured(settings, reply, fine):
    with listening(reply) as port:
        settings.JOBS_REDIS_URL = f"redis://:s3cret@127.0.0.1:{port}/0"
        assert (told(machine.redis) == "") is fine


def test_a_redis_that_is_not_there(settings):
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    settings.JOBS_REDIS_URL = f"redis://:s3cret@127.0.0.1:{port}/0"
    assert "does not answer" in told(machine.redis)
    assert "s3cret" not in told(machine.redis)


class listening:  # noqa: N801  used as a function
    def __init__(self, reply: bytes) -> None:
        self.reply, self.server = reply, socket.create_server(("127.0.0.1", 0))
        self.thread = threading.Thread(target=self.answer)

    def answer(self) -> None:
        client, _ = self.server.accept()
        with client:
            client.recv(64)
            client.sendall(self.reply)

    def __enter__(self) -> int:
        self.thread.start()
        port: int = self.server.getsockname()[1]
        return port

    def __exit__(self, *error: object) -> None:
        self.thread.join(20)
        self.server.close()


# Videos


@pytest.mark.once
def test_whether_ffmpeg_is_confined(settings):
    assert told(videos.confined) in (
        "",
        "advice: This machine allows no network namespaces: ffmpeg has the worker's network.",
    )
    settings.JOBS_VIDEO_CONFINED = False
    assert told(videos.confined).startswith("advice: JOBS_VIDEO_CONFINED is off")


def test_ffmpeg(settings):
    assert told(videos.ffmpeg) == ""
    settings.JOBS_FFMPEG = "/nowhere/ffmpeg"
    assert "which cannot be run" in told(videos.ffmpeg)
    assert told(videos.encoders) == "", "once is enough"


@pytest.mark.once
@pytest.mark.parametrize(
    ("named", "said"),
    [("", ""), ("libx264", ""), ("h264_nvenc", "wrong: ffmpeg cannot encode with h264_nvenc"),
     ("h264_nvenc,libx264", "advice: ffmpeg cannot encode with h264_nvenc"), ("h999", "wrong: JOBS_VIDEO_ENCODERS")],
)  # fmt: skip
def test_encoders(settings, named, said):
    settings.JOBS_VIDEO_ENCODERS = named
    assert told(videos.encoders).startswith(said)
    assert bool(said) == bool(told(videos.encoders))


# The command


def bad() -> Iterator[Finding]:
    yield Finding("All is lost.\x1b[31m", "Do something.")
    yield Finding("It could be better.", level=Level.ADVICE)


def test_an_examination_that_breaks_is_a_finding_itself():
    def breaks() -> Iterator[Finding]:
        raise RuntimeError("oh")
        yield

    [finding] = report_of("x", breaks).findings
    assert "RuntimeError: oh" in finding.text


def test_the_command_says_what_is_wrong_and_what_repairs_it(monkeypatch):
    monkeypatch.setattr("jobs.management.commands.doctor.examine_all", lambda: [report_of("x", bad), Report("y", [])])
    problem = refused("doctor")
    assert (problem.code, problem.sentence) == (1, "1 examination found something wrong.")
    assert problem.printed.splitlines() == [
        "WRONG   x: All is lost.\\x1b[31m", "        → Do something.", "ADVICE  x: It could be better.", "ok      y",
    ]  # fmt: skip
    document = json.loads(refused("doctor", "--json").printed)
    assert document["ok"] is False
    assert document["reports"][0]["findings"][0]["level"] == "wrong"


def test_advice_alone_is_no_failure(monkeypatch):
    only = Report("x", [Finding("It could be better.", level=Level.ADVICE)])
    monkeypatch.setattr("jobs.management.commands.doctor.examine_all", lambda: [only])
    assert "ADVICE" in run("doctor")


def test_no_secret_is_printed(monkeypatch):
    monkeypatch.setenv("MY_SECRET_KEY", "s3cr3t-of-mine")
    only = Report("x", [Finding("Refused: s3cr3t-of-mine at redis://:hush@host", level=Level.ADVICE)])
    monkeypatch.setattr("jobs.management.commands.doctor.examine_all", lambda: [only])
    said = run("doctor")
    assert "s3cr3t" not in said
    assert "hush" not in said
