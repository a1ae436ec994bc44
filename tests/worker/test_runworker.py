"""`runworker` as a process: what it runs, in which order, and when it exits."""

import json
import time

import pytest

from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.set_limit import Rules, set_limit
from jobs.lifecycle.workers import disable, drain, enable
from jobs.management.commands.runworker import Command
from jobs.models import Job
from jobs.states import Status, WorkerStatus
from tests.factories import events_of, reload
from tests.manage import manage
from tests.worker.stage import Stage


def test_until_empty_runs_all_that_is_due_in_the_order_of_queues_and_priorities_and_exits(stage: Stage):
    later = stage.add("app.short", queue="second", priority=100)
    low, high, high_too = (stage.add("app.short", queue="first", priority=priority) for priority in (-5, 5, 5))
    unserved = stage.add("app.short", queue="third")
    worker = stage.run("--queue", "first", "--queue", "second", "--name", "drainer")
    assert [line.job for line in stage.history("end")] == [high, high_too, low, later]
    done = Job.objects.filter(status=Status.COMPLETED)
    assert set(done.values_list("attempt", "last_worker_name")) == {(1, "drainer")}
    assert reload(unserved).status == Status.PENDING
    assert worker.row().status == WorkerStatus.OFFLINE
    assert (
        "worker drainer done: 4 attempts, 4 completed, 0 failed, 0 to be tried again, handed back or cancelled"
        in stage.logs()
    )


def test_one_that_exits_before_its_first_heartbeat_leaves_what_it_did_and_was_heard(stage: Stage):
    stage.add("app.short")
    worker = stage.run(JOBS_HEARTBEAT_INTERVAL="30", JOBS_CLAIM_DURATION="60", JOBS_WORKER_OFFLINE_THRESHOLD="60")
    assert worker.row().metadata == {"jobs": 1, "completed": 1, "failed": 0, "other": 0}
    assert worker.row().last_heartbeat


def test_it_exits_after_max_jobs(stage: Stage):
    jobs = [stage.add("app.short") for _ in range(3)]
    worker = stage.worker("--max-jobs", "2")
    assert worker.exit_code() == 0
    assert [line.job for line in stage.history("end")] == jobs[:2]
    assert reload(jobs[2]).status == Status.PENDING


def test_a_job_that_fails_is_tried_again_until_it_works_or_its_attempts_are_used_up(stage: Stage):
    works = stage.add("app.flaky", {"works_at": 3}, max_attempts=3)
    never = stage.add("app.flaky", {"works_at": 9}, max_attempts=2)
    stage.run()
    assert (reload(works).status, reload(works).attempt, reload(works).result) == ("completed", 3, "worked at 3")
    assert (reload(never).status, reload(never).attempt) == ("failed", 2)
    assert reload(never).last_error == "RuntimeError: attempt 2 does not work"
    assert events_of(never) == ["enqueued", "claimed", "retrying", "claimed", "failed"]


def test_a_job_that_cannot_run_here_fails_with_a_clear_error_and_the_worker_goes_on(stage: Stage):
    unknown = stage.add("unknown.kind", max_attempts=1)
    misfit = stage.add("app.short", {"surplus": 1}, max_attempts=1)
    fine = stage.add("app.short")
    stage.run()
    assert "No handler is registered for the kind 'unknown.kind'" in reload(unknown).last_error
    assert "The payload does not fit the handler of 'app.short'" in reload(misfit).last_error
    assert "surplus" in reload(misfit).last_error
    assert [job.status for job in map(reload, (unknown, misfit, fine))] == ["failed", "failed", "completed"]


def test_a_worker_that_cannot_import_a_module_says_so_and_leaves_what_it_does_not_know_to_others(stage: Stage):
    broken = stage.add("broken.kind", max_attempts=1, priority=9)
    fine = stage.add("app.short")
    stage.run(TEST_APPS="tests.broken_app")
    said = "tests.broken_app.job_handlers cannot be imported: ImportError: No module named 'libmissing'. Jobs of kinds"
    assert stage.logs().count(said) == 1
    assert (reload(broken).status, reload(broken).attempt) == (Status.PENDING, 0)
    assert reload(fine).status == Status.COMPLETED


def test_a_log_in_json_finds_the_lines_of_a_job_and_says_of_which_worker_they_are(stage: Stage):
    job = stage.add("app.short")
    stage.run("--name", "drainer", JOBS_LOG_FORMAT="json")
    told = [json.loads(line) for line in stage.logs().splitlines() if line.startswith("{")]
    assert [line["message"] for line in told if line.get("job") == job] == ["started", "finished"]
    signed = {line["message"]: line.get("worker") for line in told if line["logger"] == "jobs.worker"}
    assert signed == dict.fromkeys(("worker online", "started", "finished", "stopping"), "drainer")


def test_an_attempt_that_runs_longer_than_its_max_runtime_fails_and_the_worker_goes_on(stage: Stage):
    slow = stage.add("app.long", max_runtime=0.4, max_attempts=1)
    fine = stage.add("app.short")
    stage.run()
    assert (reload(slow).status, reload(slow).last_error) == ("failed", "Timeout after 0.4 s")
    assert not [line for line in stage.history("end") if line.job == slow]
    assert reload(fine).status == Status.COMPLETED


def test_a_running_job_that_is_cancelled_stops_at_the_handlers_next_call(stage: Stage):
    job_id, next_id = stage.add("app.chatty"), stage.add("app.short")
    stage.worker("--until-empty")
    stage.wait_for_start(job_id)
    assert cancel(job_id).requested == [job_id]
    assert stage.wait_for_end(job_id).status == Status.CANCELLED
    assert events_of(job_id).count("cancelled") == 1
    assert stage.wait_for_end(next_id).status == Status.COMPLETED


def test_a_disabled_worker_hands_its_job_back_and_claims_nothing_until_it_is_enabled(stage: Stage):
    job_id = stage.add("app.chatty", max_attempts=2)
    worker = stage.worker()
    stage.wait_for_start(job_id)
    disable(worker.row().pk)
    stage.wait_for(lambda: reload(job_id).status == Status.PENDING)
    assert reload(job_id).attempt == 0
    assert events_of(job_id)[-1] == "released"
    beaten = worker.row().last_heartbeat
    stage.wait_for(lambda: worker.row().last_heartbeat != beaten)
    assert worker.row().status == WorkerStatus.DISABLED
    assert reload(job_id).status == Status.PENDING
    enable(worker.row().pk)
    stage.wait_for(lambda: reload(job_id).status == Status.RUNNING)


def test_a_worker_that_was_to_run_until_nothing_is_left_ends_when_it_is_disabled(stage: Stage):
    job_id = stage.add("app.chatty", max_attempts=2)
    worker = stage.worker("--until-empty")
    stage.wait_for_start(job_id)
    disable(worker.row().pk)
    assert worker.exit_code() == 1
    assert "This worker was disabled, and may have left jobs in its queues" in stage.logs().splitlines()[-1]
    assert (reload(job_id).status, reload(job_id).attempt) == (Status.PENDING, 0)
    assert "Traceback" not in stage.logs()


def test_a_worker_that_may_not_work_costs_next_to_nothing(stage: Stage):
    worker = stage.worker(JOBS_POLL_INTERVAL="0.05")
    stage.wait_for(lambda: "worker online" in worker.log.read_text())
    disable(worker.row().pk)
    stage.wait_for(lambda: "this worker was disabled" in stage.logs())
    before, began = worker.cpu_seconds(), time.monotonic()
    stage.wait_for(lambda: time.monotonic() - began > 2)
    assert worker.cpu_seconds() - before < 1


def test_a_drained_worker_finishes_its_job_and_exits(stage: Stage):
    job_id, next_id = stage.add("app.long"), stage.add("app.short")
    worker = stage.worker()
    stage.wait_for_start(job_id)
    drain(worker.row().pk)
    beaten = worker.row().last_heartbeat
    stage.wait_for(lambda: worker.row().last_heartbeat != beaten)
    assert worker.process.poll() is None
    stage.open_gate()
    assert worker.exit_code() == 0
    assert [job.status for job in map(reload, (job_id, next_id))] == [Status.COMPLETED, Status.PENDING]


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--queue", "bad name"], "The queue name 'bad name' is not valid"),
        (["--max-jobs", "0"], "'0' is not a whole number from 1 to 999999"),
        (["--max-jobs", "²"], "'²' is not a whole number from 1 to 999999"),
        (["--poll-interval", "nan"], "'nan' is not a number above zero"),
        (["--poll-interval", "-1"], "'-1' is not a number above zero"),
        (["--queue", "a:0"], "'0' is not a whole number from 1 to 999999"),
        (["--processes", "1000000000"], "'1000000000' is not a whole number from 1 to 999999"),
        (["--processes", "257"], "'257' is more than 256: start several workers instead"),
        (["--gpu", "maybe"], "invalid choice: 'maybe'"),
        (["--slots"], "unrecognized arguments: --slots"),
    ],
)
def test_wrong_flags_are_refused_with_a_sentence_and_exit_code_2(flags, sentence, capsys):
    with pytest.raises(SystemExit) as stopped:
        Command().run_from_argv(["manage.py", "runworker", *flags])
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.django_db(transaction=True)
def test_a_name_that_cannot_be_stored_is_refused(capsys):
    with pytest.raises(SystemExit) as stopped:
        Command().run_from_argv(["manage.py", "runworker", "--name", "x" * 201])
    assert stopped.value.code == 2
    assert "The worker name has 201 characters; at most 200 are allowed." in capsys.readouterr().err


def test_a_database_that_was_not_migrated_is_told_at_once(stage: Stage):
    worker = stage.worker(DATABASE_URL=f"sqlite:///{stage.folder / 'empty.sqlite3'}")
    assert worker.exit_code() == 1
    assert "Run `manage.py migrate` first." in stage.logs()
    assert "Traceback" not in stage.logs()


def test_a_second_worker_on_a_queue_with_one_place_exits_at_once_and_names_who_holds_it(stage: Stage):
    set_limit("queue", "imports", Rules(max_running=1))
    first, second = (stage.add("app.long", queue="imports") for _ in range(2))
    holder = stage.worker("--queue", "imports", "--until-empty")
    stage.wait_for_start(first)
    stage.run("--queue", "imports", "--name", "latecomer")
    row = holder.row()
    assert f"Queue imports is at its limit (1 of 1): job {first} is held by {row.name}" in stage.logs()
    assert f"on {row.hostname}, pid {holder.pid}." in stage.logs()
    assert reload(second).status == Status.PENDING
    stage.open_gate()
    assert holder.exit_code() == 0
    assert [job.status for job in map(reload, (first, second))] == [Status.COMPLETED] * 2


def test_what_handlers_print_is_no_part_of_the_answer(stage: Stage):
    stage.add("app.printing")
    done = manage("runworker", "--until-empty", "--json", "--processes", "1", DJANGO_SETTINGS_MODULE="tests.settings")
    assert json.loads(done.stdout)["completed"] == 1
    assert [done.stderr.count(word) for word in ("said by the handler", "said by its program")] == [1, 1]
