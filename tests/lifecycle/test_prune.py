"""Prune: ended jobs are marked stale after their retention, and deleted a while after that."""

import pytest

from jobs.handlers.registry import Kind
from jobs.lifecycle import sweep, turns
from jobs.lifecycle.prune import prune_in_turn, prune_once
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.workers import disable, sign_off
from jobs.models import Job, JobEvent, QueueDelta, Worker
from jobs.states import ACTIVE, Status
from tests.factories import age, claimed, events_of, job_in, make_worker, reload

DAY = 86_400
RETENTIONS = [(Status.COMPLETED, 30), (Status.FAILED, 90), (Status.CANCELLED, 30)]


@pytest.mark.parametrize(("status", "days"), RETENTIONS)
def test_an_ended_job_is_marked_stale_first_and_deleted_later(status, days):
    job = job_in(status)
    age(days * DAY - 60)
    assert prune_once().marked_stale == 0
    age(61)
    result = prune_once()
    assert (result.marked_stale, result.deleted) == (1, 0)
    assert (reload(job).status, events_of(job)[-1]) == (status, "stale")
    age(7 * DAY - 60)
    result = prune_once()
    assert (result.marked_stale, result.deleted) == (0, 0)
    age(61)
    assert prune_once().deleted == 1
    assert not Job.objects.exists()
    assert events_of(job) == ["deleted"]


@pytest.mark.parametrize("status", ACTIVE)
def test_an_active_job_is_never_pruned(status):
    job = job_in(status)
    for _ in range(2):
        age(365 * DAY)
        result = prune_once()
        assert (result.marked_stale, result.deleted) == (0, 0)
    assert reload(job).status == status


@pytest.mark.parametrize(("status", "days"), RETENTIONS)
def test_a_retention_of_zero_keeps_them_for_ever(settings, status, days):
    setattr(settings, f"JOBS_RETENTION_{status.upper()}", 0)
    job_in(status)
    age(1000 * DAY)
    assert prune_once().marked_stale == 0


def test_both_steps_call_the_kinds_hook(kind: Kind):
    called: list[str] = []
    kind.on_stale = lambda job: called.append(f"stale {job.pk}")
    kind.on_delete = lambda job: called.append(f"deleted {job.pk}")
    job = job_in(Status.COMPLETED, kind=kind.name)
    age(31 * DAY)
    prune_once()
    assert called == [f"stale {job.pk}"]
    age(8 * DAY)
    prune_once()
    assert called == [f"stale {job.pk}", f"deleted {job.pk}"]


def test_a_job_whose_stale_hook_raises_is_not_marked_and_holds_up_no_other(kind: Kind):
    def refuse(job: Job) -> None:
        raise OSError("the archive is away")

    kind.on_stale = refuse
    job, other = job_in(Status.COMPLETED, kind=kind.name), job_in(Status.COMPLETED, queue="other")
    age(31 * DAY)
    assert prune_once().marked_stale == 1
    assert reload(job).stale_at is None
    assert reload(other).stale_at is not None


def test_a_hook_is_given_its_job_as_it_is(kind: Kind):
    told: list[tuple[str, str, dict[str, str]]] = []
    kind.on_stale = kind.on_delete = lambda job: told.append((job.status, job.subject, job.payload))
    for name in (kind.name, "test.noop"):
        job_in(Status.COMPLETED, kind=name, queue=name, subject="a film", payload={"path": "film.mkv"})
    age(31 * DAY)
    assert prune_once().marked_stale == 2
    age(8 * DAY)
    assert prune_once().deleted == 2
    assert told == [("completed", "a film", {"path": "film.mkv"})] * 2


def test_jobs_without_a_hook_are_marked_and_deleted_without_making_models_of_them(monkeypatch):
    for status in (Status.COMPLETED, Status.FAILED):
        job_in(status, queue=status)

    def refuse(*_: object) -> None:
        raise AssertionError("a whole row was brought here")

    for days in (91, 8):
        age(days * DAY)
        with monkeypatch.context() as patched:
            patched.setattr(Job, "from_db", refuse)
            result = prune_once()
    assert (result.deleted, result.left) == (2, 0)
    assert not Job.objects.exists()


@pytest.mark.parametrize("size", [1, 2, 3])
def test_batches_are_done_until_nothing_is_left(monkeypatch, size):
    monkeypatch.setattr(sweep, "MOST", size)
    for queue in "abcde":
        job_in(Status.CANCELLED, queue=queue)
    age(31 * DAY)
    assert prune_once().marked_stale == 5
    age(8 * DAY)
    assert prune_once().deleted == 5


def test_an_offline_worker_is_deleted_a_while_after_it_was_last_heard():
    worker = make_worker()
    sign_off(worker.pk)
    age(7 * DAY - 60)
    assert prune_once().workers_deleted == 0
    age(61)
    assert prune_once().workers_deleted == 1
    assert not Worker.objects.exists()


def test_a_worker_that_is_disabled_or_not_marked_offline_is_kept():
    make_worker()
    disable(make_worker().pk)
    age(30 * DAY)
    assert prune_once().workers_deleted == 0


def test_a_worker_that_still_holds_a_job_is_kept_until_it_is_reaped():
    ref = claimed(worker := make_worker("w1"))
    sign_off(worker.pk)
    age(30 * DAY)
    assert prune_once().workers_deleted == 0
    reap_once()
    assert prune_once().workers_deleted == 1
    job = reload(ref)
    assert (job.last_worker_id, job.last_worker_name) == (worker.pk, "w1")


def test_traces_of_what_is_no_more_go_too_and_the_history_of_jobs_stays():
    kept = job_in(Status.PENDING, queue="kept")
    job_in(Status.COMPLETED)
    age(31 * DAY)
    prune_once()
    age(8 * DAY)
    prune_once()
    assert JobEvent.objects.filter(name="deleted").exists()
    assert not JobEvent.objects.filter(name="worker_online").exists()
    age(8 * DAY)
    prune_once()
    assert not JobEvent.objects.filter(name="deleted").exists()
    assert events_of(kept) == ["enqueued"]


def test_it_folds_the_counters():
    job_in(Status.COMPLETED)
    prune_once()
    assert not QueueDelta.objects.exists()


@pytest.mark.parametrize("hook", ["on_stale", "on_delete"])
def test_more_failing_hooks_than_a_batch_hold_up_nothing_that_is_behind_them(kind: Kind, monkeypatch, hook):
    monkeypatch.setattr(sweep, "MOST", 2)
    called: list[int] = []

    def refuse(job: Job) -> None:
        called.append(job.pk)
        raise OSError("the archive is away")

    stuck = [job_in(Status.COMPLETED, kind=kind.name, queue=queue).pk for queue in "abcde"]
    behind = job_in(Status.COMPLETED, queue="behind")
    setattr(kind, hook, refuse)
    age(31 * DAY)
    prune_once()
    age(8 * DAY)
    result = prune_once()
    assert not Job.objects.filter(pk=behind.pk).exists()
    assert (result.deleted, result.left) == (1, 5)
    assert sorted(called) == sorted(stuck * (2 if hook == "on_stale" else 1))  # once in each run
    setattr(kind, hook, None)
    prune_once()
    age(8 * DAY)
    prune_once()
    assert not Job.objects.exists()


def test_it_stops_between_two_batches_when_it_is_told_to(monkeypatch):
    monkeypatch.setattr(sweep, "MOST", 2)
    for queue in "abcde":
        job_in(Status.COMPLETED, queue=queue)
    age(31 * DAY)
    answers = iter([True, True])
    assert prune_once(lambda: next(answers, False)).marked_stale == 4


def test_of_all_workers_one_prunes_once_per_interval(settings):
    settings.JOBS_PRUNE_INTERVAL = 600
    job_in(Status.COMPLETED)
    age(31 * DAY)
    result = prune_in_turn()
    assert result
    assert result.marked_stale == 1
    assert prune_in_turn() is None
    age(600)
    assert prune_in_turn()
    age(600)
    prune_once()  # by cron, say
    assert prune_in_turn() is None


def test_the_turn_of_a_weekly_prune_is_not_forgotten(settings):
    settings.JOBS_PRUNE_INTERVAL = 7 * DAY
    prune_in_turn()
    age(2 * DAY)
    turns.forget_old()
    assert prune_in_turn() is None
