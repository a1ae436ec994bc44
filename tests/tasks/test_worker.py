"""Tasks with a real `runworker`: found by their path, run in its children, and told of there."""

import os

import pytest

from jobs.exceptions import AttemptEnded
from jobs.tasks.compat import TaskResultStatus
from tests.app import tasks
from tests.factories import reload
from tests.worker.conftest import stage as stage
from tests.worker.stage import Stage


@pytest.mark.django_db(transaction=True)
def test_a_worker_runs_tasks_of_all_sorts_and_their_results_come_back(stage: Stage):
    asynchronous = tasks.noted.enqueue(str(stage.history_file))
    works, fails, dies = tasks.works_at.enqueue(2), tasks.fails.enqueue("no such thing"), tasks.dies.enqueue()
    alone = tasks.alone.enqueue(1)
    unserved = tasks.noop.using(queue_name="elsewhere").enqueue()
    worker = stage.run("--queue", "reports", "--queue", "default", "--name", "anna")
    for result in (asynchronous, works, fails, dies, alone, unserved):
        result.refresh()
    assert (asynchronous.return_value, asynchronous.worker_ids) == ("attempt 1", ["anna"])
    assert [line.job for line in stage.history("task")] == [int(asynchronous.id)]
    assert (works.return_value, works.worker_ids) == (2, ["anna", "anna"])
    assert (fails.status, fails.errors[0].exception_class) == (TaskResultStatus.FAILED, ValueError)
    assert fails.errors[0].traceback.endswith("ValueError: no such thing\n")
    assert (dies.status, dies.errors[0].exception_class) == (TaskResultStatus.FAILED, AttemptEnded)
    assert "exit code 3" in dies.errors[0].traceback
    assert alone.return_value not in (os.getpid(), worker.pid)
    assert (unserved.status, reload(int(unserved.id)).attempt) == (TaskResultStatus.READY, 0)
    said = stage.logs()  # the framework's own receivers of the signals, in the child
    assert f"Task id={works.id} path=tests.app.tasks.works_at state=RUNNING" in said
    assert said.count(f"Task id={works.id} path=tests.app.tasks.works_at state=SUCCESSFUL") == 1
    assert f"Task id={fails.id} path=tests.app.tasks.fails state=FAILED" in said
