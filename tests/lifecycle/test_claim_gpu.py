"""GPU rules: `require` is never taken by a CPU worker; `prefer` is left to an idle GPU worker for a while."""

from datetime import timedelta

import pytest

from jobs.lifecycle.claim import claim
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.workers import disable, drain
from jobs.models import Job
from jobs.selectors.clock import database_now
from tests.factories import age, claimed, make_job, make_worker, reload

GPU_WAIT = 60  # two heartbeats


def cpu_takes(job: Job) -> bool:
    taken = claim(make_worker("cpu", beaten=False), [job.queue])
    return [each.id for each in taken] == [job.pk]


def test_a_job_that_requires_a_gpu_is_never_taken_by_a_cpu_worker():
    job = make_job(accelerator="require")
    age(10 * GPU_WAIT)
    assert not cpu_takes(job)
    assert claimed(make_worker(gpu=True), job).job_id == job.pk


@pytest.mark.parametrize("accelerator", ["", "prefer", "require"])
def test_a_gpu_worker_takes_every_job(accelerator):
    job = make_job(accelerator=accelerator)
    assert claimed(make_worker(gpu=True), job).job_id == job.pk


def test_a_cpu_worker_leaves_a_preferring_job_to_an_idle_gpu_worker():
    make_worker(gpu=True)
    assert not cpu_takes(make_job(accelerator="prefer"))
    assert cpu_takes(make_job(queue="plain"))


def test_it_waits_at_most_the_gpu_wait_from_when_the_job_was_due():
    gpu, job = make_worker(gpu=True), make_job(accelerator="prefer")
    age(GPU_WAIT - 2)
    heartbeat(gpu.pk)
    assert not cpu_takes(job)
    age(3)
    assert cpu_takes(job)


def test_the_wait_begins_when_a_scheduled_job_becomes_due():
    gpu = make_worker(gpu=True)
    job = make_job(accelerator="prefer", run_after=database_now() + timedelta(seconds=100))
    age(130)
    heartbeat(gpu.pk)
    assert not cpu_takes(job)


def test_without_any_gpu_worker_it_is_taken_at_once():
    make_worker("another cpu")
    assert cpu_takes(make_job(accelerator="prefer"))


def test_a_busy_gpu_worker_is_not_waited_for():
    claimed(make_worker(gpu=True), queue="elsewhere")
    assert cpu_takes(make_job(accelerator="prefer"))


def test_a_disabled_gpu_worker_is_not_waited_for():
    disable(make_worker(gpu=True).pk)
    assert cpu_takes(make_job(accelerator="prefer"))


def test_a_gpu_worker_that_has_not_beaten_within_the_wait_is_not_waited_for():
    make_worker(gpu=True)
    age(GPU_WAIT + 1)
    assert cpu_takes(make_job(accelerator="prefer"))


def test_the_wait_can_be_set_and_switched_off(settings):
    make_worker(gpu=True)
    job = make_job(accelerator="prefer")
    settings.JOBS_GPU_WAIT = 0
    assert cpu_takes(job)


def test_a_worker_that_learns_of_its_gpu_by_heartbeat_takes_what_requires_one():
    worker, job = make_worker(), make_job(accelerator="require")
    heartbeat(worker.pk, capabilities={"gpu": True})
    worker.refresh_from_db()
    claimed(worker, job)
    assert reload(job).worker_id == worker.pk


def test_a_gpu_worker_that_drains_is_not_waited_for():
    job = make_job(accelerator="prefer")
    drain(make_worker("gpu", gpu=True).pk)
    assert [taken.id for taken in claim(make_worker("cpu"))] == [job.pk]
