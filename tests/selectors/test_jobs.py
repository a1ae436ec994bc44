"""Finding jobs: filters combine, and the state that people are shown is derived from the row."""

from datetime import timedelta

import pytest

from jobs.exceptions import InvalidInput, JobNotFound
from jobs.handlers.base import ClaimRef, Outcome, Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import fail, finish_one
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.report import report
from jobs.models import Job
from jobs.selectors.clock import database_now
from jobs.selectors.jobs import JobFilter, find_jobs, get_job
from jobs.selectors.timeline import timeline
from jobs.states import TERMINAL, ShownState, Status
from tests.factories import age, claimed, id_of, job_in, make_job, make_worker, reload

pytestmark = pytest.mark.django_db


def found(**which: object) -> set[int]:
    return set(find_jobs(JobFilter(**which)).values_list("pk", flat=True))  # type: ignore[arg-type]  # by keyword


def state_of(job: Job | ClaimRef) -> str:
    return get_job(id_of(job)).state  # type: ignore[attr-defined]  # annotated by with_state


def test_nothing_given_matches_every_job():
    jobs = {job_in(status, queue=status).pk for status in Status}
    assert found() == jobs


def test_everything_given_must_match():
    wanted = job_in(Status.FAILED, queue="q", scope="s")
    for other in ({"queue": "x", "scope": "s"}, {"queue": "q", "scope": "x"}):
        job_in(Status.FAILED, **other)
    job_in(Status.CANCELLED, queue="q", scope="s")
    assert found(statuses=("failed",), queue="q", scope="s", kind="test.noop") == {wanted.pk}
    assert found(ids=(wanted.pk,)) == {wanted.pk}
    assert found(ids=(wanted.pk,), kind="test.other") == set()


def test_the_age_of_an_ended_job_counts_from_its_end():
    job = make_job()
    age(3600)
    make_job(queue="young")
    assert found(older_than=timedelta(minutes=30)) == {job.pk}
    fail(claimed(job=job), "broken", fatal=True)
    assert found(older_than=timedelta(minutes=30)) == set()


def test_the_empty_scope_is_a_scope():
    plain = make_job()
    make_job(scope="s")
    assert found(scope="") == {plain.pk}


@pytest.mark.parametrize("which", [{"statuses": ("lost",)}, {"states": ("lost",)}, {"queue": "no queue"}])
def test_words_that_name_nothing_are_refused(which):
    with pytest.raises(InvalidInput, match=r"lost|no queue"):
        found(**which)


def test_a_job_that_does_not_exist_is_told_so():
    with pytest.raises(JobNotFound, match="There is no job 12345"):
        get_job(12345)


@pytest.mark.parametrize("status", TERMINAL)
def test_ended_jobs_are_shown_as_they_are(status):
    assert state_of(job_in(status)) == status


def test_pending_jobs_are_unclaimed_scheduled_or_retrying():
    assert state_of(make_job()) == ShownState.UNCLAIMED
    assert state_of(make_job(run_after=database_now() + timedelta(hours=1))) == ShownState.SCHEDULED
    ref = claimed(queue="other")
    fail(ref, "broken")
    assert state_of(ref) == ShownState.RETRYING


def test_a_running_job_is_claimed_then_expired():
    ref = claimed()
    assert state_of(ref) == ShownState.CLAIMED
    age(121)
    assert state_of(ref) == ShownState.EXPIRED


def test_a_running_job_without_progress_is_stalled_until_it_moves():
    ref = claimed(worker := make_worker())
    age(601)
    heartbeat(worker.pk, [ref])
    assert state_of(ref) == ShownState.STALLED
    report(Report(ref, progress=1))
    assert state_of(ref) == ShownState.CLAIMED
    age(601)
    heartbeat(worker.pk, [ref])
    assert state_of(ref) == ShownState.STALLED


def test_jobs_are_found_by_the_state_they_are_shown_in():
    waiting, running = make_job(), claimed(queue="other")
    assert found(states=("unclaimed",)) == {waiting.pk}
    assert found(states=("claimed", "expired")) == {running.job_id}
    age(1000)
    assert found(states=("expired",)) == {running.job_id}


def test_the_timeline_is_the_jobs_own_history_oldest_first():
    ref = claimed(backoff="fixed:0")
    fail(ref, "broken")
    claimed(job=reload(ref))
    make_job()
    job = Job.objects.get(pk=ref.job_id)
    assert [event.name for event in timeline(job)] == ["enqueued", "claimed", "retrying", "claimed"]
    assert [event.attempt for event in timeline(job)] == [0, 1, 1, 2]


def test_jobs_are_found_by_who_has_or_had_them():
    mine, other = make_worker("mine"), make_worker("other")
    held = claimed(mine)
    ended = claimed(mine, queue="q")
    finish_one(Outcome.completed(ended))
    claimed(other, queue="r")
    assert found(worker=mine.pk) == {held.job_id, ended.job_id}


def test_newer_than_looks_at_the_end_if_there_is_one():
    ended, waiting = job_in(Status.COMPLETED), make_job()
    age(3600)
    young = make_job()
    cancel(waiting.pk)
    assert found(newer_than=timedelta(minutes=30)) == {young.pk, waiting.pk}
    assert found(older_than=timedelta(minutes=30)) == {ended.pk}


def test_text_is_looked_for_in_subject_key_and_error():
    subject, key = make_job(subject="The Film.mkv"), make_job(dedupe_key="film-7")
    broken = claimed(queue="q")
    finish_one(Outcome.failed(broken, "no space for FILM", fatal=True))
    make_job(subject="100 % other_things")
    assert found(text="film") == {subject.pk, key.pk, broken.job_id}
    assert found(text="100 %") == found(text="r_t")
    assert found(text="rxt") == set()


def test_a_number_is_an_id_and_in_quotes_a_text():
    first = make_job()
    second = make_job(subject=f"copy of {first.pk}")
    assert found(text=str(first.pk)) == {first.pk}
    assert found(text=f"of {first.pk}") == found(text=f'"{first.pk}"') == {second.pk}
    make_job(subject="about 123456789012345678901")
    assert found(text="123456789012345678901") == set()
    Job.objects.filter(pk=first.pk).delete()
    assert found(text=str(first.pk)) == set()


def test_every_state_finds_its_own():
    jobs: dict[str, list[int]] = {state: [] for state in ShownState}
    for status in Status:
        job = job_in(status, queue=status)
        jobs[state_of(job)].append(job.pk)
    for state, expected in jobs.items():
        assert found(states=(state,)) == set(expected)
    assert found(states=("failed", "claimed")) == {*jobs[ShownState.FAILED], *jobs[ShownState.CLAIMED]}
