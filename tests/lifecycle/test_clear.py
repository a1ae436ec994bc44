"""Clear: ended jobs are deleted with all that belongs to them; pending and running ones never."""

from datetime import timedelta

import pytest

from jobs.handlers.base import PhaseReport, QualityReport, Report
from jobs.handlers.registry import Kind
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.clear import clear
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import complete
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.report import report
from jobs.lifecycle.selection import BATCH
from jobs.models import Job, JobEvent, PhaseProgress, QualityProgress
from jobs.selectors.jobs import JobFilter, find_jobs
from jobs.states import ACTIVE, TERMINAL, PhaseStatus, QualityStatus, Status
from tests.factories import age, claimed, events_of, job_in, make_job


@pytest.mark.parametrize("status", TERMINAL)
def test_an_ended_job_is_deleted_and_one_event_tells_of_it(status):
    job = job_in(status)
    assert clear(job.pk, "tidying") == [job.pk]
    assert not Job.objects.exists()
    event = JobEvent.objects.get(job_id=job.pk)
    assert (event.name, event.reason) == ("deleted", f"{status} test.noop: tidying")


@pytest.mark.parametrize("status", ACTIVE)
def test_a_pending_or_running_job_is_never_deleted(status):
    job = job_in(status)
    before = events_of(job)
    assert clear(job.pk) == []
    assert clear(Job.objects.all()) == []
    assert Job.objects.get().status == status
    assert events_of(job) == before


def test_its_phases_and_qualities_go_with_it():
    ref = claimed()
    phases, qualities = [PhaseReport("a", 0, PhaseStatus.COMPLETED)], [QualityReport("b", QualityStatus.COMPLETED)]
    report(Report(ref, phases=phases, qualities=qualities))
    complete(ref)
    clear(ref.job_id)
    assert not PhaseProgress.objects.exists()
    assert not QualityProgress.objects.exists()


FILTERS = {
    "status": JobFilter(statuses=("failed",)),
    "queue": JobFilter(queue="old"),
    "scope": JobFilter(scope="mine"),
    "age": JobFilter(older_than=timedelta(days=1)),
}


@pytest.mark.parametrize("which", FILTERS.values(), ids=FILTERS)
def test_jobs_are_cleared_by_status_queue_scope_and_age(which):
    wanted = job_in(Status.FAILED, queue="old", scope="mine")
    active = make_job(queue="old", scope="mine")
    age(2 * 86_400)
    other = job_in(Status.COMPLETED)
    assert clear(find_jobs(which)) == [wanted.pk]
    assert set(Job.objects.values_list("pk", flat=True)) == {active.pk, other.pk}


def test_more_than_a_batch_is_cancelled_and_cleared():
    enqueue_many(NewJob("test.noop") for _ in range(BATCH + 1))
    assert len(cancel(Job.objects.all()).cancelled) == BATCH + 1
    assert len(clear(Job.objects.all())) == BATCH + 1


def test_the_kinds_on_delete_hook_is_called_for_each(kind: Kind):
    deleted: list[int] = []
    kind.on_delete = lambda job: deleted.append(job.pk)
    jobs = [job_in(Status.COMPLETED, kind=kind.name, queue=queue) for queue in "ab"]
    job_in(Status.COMPLETED)
    clear(Job.objects.all())
    assert deleted == [job.pk for job in jobs]


def test_a_job_whose_hook_raises_stays_and_holds_up_no_other(kind: Kind, caplog):
    def refuse(job: Job) -> None:
        raise OSError("the files cannot be removed")

    kind.on_delete = refuse
    job, other = job_in(Status.COMPLETED, kind=kind.name), job_in(Status.COMPLETED, queue="other")
    assert clear([job.pk, other.pk]) == [other.pk]
    assert Job.objects.get().pk == job.pk
    assert "the files cannot be removed" in caplog.text
