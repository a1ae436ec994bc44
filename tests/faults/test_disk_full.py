"""No room on a disk: the database's, or that of an attempt."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection

from jobs.states import Status
from tests.factories import events_of, reload
from tests.worker.checker import check
from tests.worker.stage import Stage

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@contextmanager
def no_room_for_completed_jobs() -> Iterator[None]:
    """As the server says it: with this text and this code (53100)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION "
            "'could not extend file \"base/1/2\": No space left on device' USING ERRCODE = 'disk_full'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER no_room BEFORE UPDATE ON jobs_job FOR EACH ROW WHEN (NEW.status = 'completed') "
            "EXECUTE FUNCTION no_room()"
        )
        try:
            yield
        finally:
            cursor.execute("DROP FUNCTION no_room() CASCADE")


def test_an_outcome_that_the_databases_disk_has_no_room_for_is_told_again_until_it_has(stage: Stage):
    job_id = stage.add("app.short", max_attempts=1)
    with no_room_for_completed_jobs():
        stage.worker()
        stage.wait_for(lambda: stage.logs().count("No space left on device") >= 4)
        pauses = [float(pause) for pause in re.findall(r"queue unavailable.*?pause=([\d.]+)", stage.logs())]
        assert pauses[0] < pauses[1] < pauses[2] < pauses[3]  # less and less often
        assert reload(job_id).status == Status.RUNNING
    job = stage.wait_for_end(job_id)
    assert (job.status, job.attempt) == (Status.COMPLETED, 1)
    assert len(stage.history("start")) == 1
    check(stage.history())
    assert "Traceback" not in stage.logs()


def test_an_attempt_without_room_fails_with_clear_words_and_is_tried_again_after_a_wait(stage: Stage):
    job_id = stage.add("app.filling", max_attempts=2, backoff="fixed:0.2:1")
    stage.worker()
    job = stage.wait_for_end(job_id)
    assert (job.status, job.attempt) == (Status.FAILED, 2)
    assert os.strerror(errno.ENOSPC) in job.last_error
    assert events_of(job_id) == ["enqueued", "claimed", "retrying", "claimed", "failed"]
    assert stage.wait_for_end(stage.add("app.short")).status == Status.COMPLETED
