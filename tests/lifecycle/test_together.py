"""Statements that are sent together: each tells what it did, and what must have happened and did not undoes all."""

from functools import partial

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.finish import complete
from jobs.lifecycle.sql.bound import Bound
from jobs.lifecycle.sql.kept import WORTH_KEEPING
from jobs.lifecycle.sql.together import Writes, run_together
from jobs.models import Queue
from tests.factories import make_job, make_worker

pytestmark = pytest.mark.django_db

ADD = "INSERT INTO jobs_queue (name, paused, reason) VALUES (%s, %s, '')"
NAMES = Bound("SELECT name FROM jobs_queue ORDER BY name", [])


def add(name: str) -> Bound:
    return Bound(ADD, [name, False])


def rename_all() -> Bound:
    return Bound("UPDATE jobs_queue SET paused = %s WHERE name <> %s", [True, "c;\n -- and"])


@pytest.fixture(params=["as it is", "by a driver that sends one at a time"])
def _driver(request, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "as it is":
        monkeypatch.setattr(connection.features, "uses_server_side_binding", True, raising=False)


@pytest.mark.usefixtures("_driver")
def test_each_tells_how_many_rows_it_wrote_and_which_it_returned():
    done = run_together([add("a"), add("b"), add("c;\n -- and"), rename_all(), NAMES])
    assert [answer.number for answer in done[:4]] == [1, 1, 1, 2]
    assert done[4].rows == [("a",), ("b",), ("c;\n -- and",)]


@pytest.mark.usefixtures("_driver")
def test_what_must_write_and_does_not_undoes_what_was_sent_with_it():
    writes = Writes()
    writes.add(add("a"))
    writes.expect(5, rename_all(), lambda number: ValueError(f"wrote {number}"))
    with pytest.raises(ValueError, match="wrote 1"), transaction.atomic():
        writes.run()
    assert not Queue.objects.exists()
    writes.run()  # what was run is not run again
    assert not Queue.objects.exists()


@pytest.mark.postgres
def test_a_job_takes_few_round_trips_from_its_enqueue_to_its_end():
    """Savepoints, which are BEGIN and COMMIT here, left out."""
    worker = make_worker()
    for _ in range(WORTH_KEEPING):  # what is built once is built, and what is kept is kept
        make_job()
        complete(claim(worker, ["default"])[0].claim)
    assert round_trips(partial(enqueue, "test.noop", allow_unknown=True)) == 1
    claimed: list = []
    assert round_trips(lambda: claimed.extend(claim(worker, ["default"]))) == 2
    assert round_trips(partial(complete, claimed[0].claim)) == 1


def round_trips(call) -> int:
    with CaptureQueriesContext(connection) as sent:
        call()
    return len([query for query in sent.captured_queries if "SAVEPOINT" not in query["sql"]])
