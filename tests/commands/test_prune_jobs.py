"""`prune_jobs`: what is old goes, and the file shrinks."""

import os

import pytest
from django.db import connection

from jobs.models import Job
from jobs.states import Status
from tests.commands.calls import run, run_json
from tests.factories import age, job_in, make_job

DAY = 86_400


@pytest.mark.django_db
def test_it_says_how_many_were_marked_and_deleted():
    job_in(Status.COMPLETED)
    assert run("prune_jobs") == "Marked 0 jobs stale, deleted 0 jobs, 0 workers and 0 webhook messages.\n"
    age(31 * DAY)
    assert run_json("prune_jobs") == {
        "marked_stale": 1, "deleted": 0, "workers_deleted": 0, "webhooks_deleted": 0, "left": 0
    }  # fmt: skip
    age(8 * DAY)
    assert run_json("prune_jobs")["deleted"] == 1
    assert not Job.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db
def test_on_postgresql_there_is_nothing_to_vacuum():
    assert run("prune_jobs", "--vacuum").splitlines()[1].startswith("PostgreSQL's autovacuum")
    assert run_json("prune_jobs", "--vacuum")["vacuum"] is None


@pytest.mark.sqlite
@pytest.mark.django_db(transaction=True)
def test_on_sqlite_the_file_shrinks():
    for _ in range(20):
        make_job(payload={"large": "x" * 200_000})
    run("cancel_jobs", "--kind", "test.noop")
    age(31 * DAY)
    run("prune_jobs")
    age(8 * DAY)
    run("prune_jobs")
    with connection.cursor() as cursor:  # an empty log: SQLite will see no need to write it back by itself
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = os.path.getsize(connection.settings_dict["NAME"])
    vacuumed = run_json("prune_jobs", "--vacuum")["vacuum"]
    after = os.path.getsize(connection.settings_dict["NAME"])
    assert before - after > 3_000_000
    assert vacuumed["bytes_before"] - vacuumed["bytes_after"] > 3_000_000
    assert "bytes on disk now" in run("prune_jobs", "--vacuum")
