"""No hot statement reads finished rows: 200,000 of them lie beside, and the planner chooses as it does by default."""

from datetime import timedelta
from functools import partial
from uuid import uuid4

import pytest
from django.db import connection

from jobs.handlers.base import ClaimRef, Outcome, Report
from jobs.lifecycle.claim import claim
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.enqueue_many import enqueue_many
from jobs.lifecycle.finish import finish
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.new_job import NewJob
from jobs.lifecycle.plain_claim import take_plainly
from jobs.lifecycle.prune import delete_stale, ended_before, long_stale, mark_stale
from jobs.lifecycle.queues import pause
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.report import report
from jobs.lifecycle.retry import retry
from jobs.lifecycle.selection import ids_of
from jobs.lifecycle.sweep import MOST, Deal, Sweep, beyond
from jobs.models import Job, JobQuerySet
from jobs.process_identity import this_process
from jobs.selectors.depth import queue_depths
from jobs.selectors.job_pages import job_page, matching
from jobs.selectors.jobs import JobFilter, find_jobs
from jobs.selectors.schedule import next_due_in, outlook
from jobs.selectors.workers import holdings
from jobs.states import Status
from tests.factories import make_worker
from tests.plans import rows
from tests.plans.explain import assert_frugal, scans_of

pytestmark = [pytest.mark.postgres, pytest.mark.django_db]

READY, LATER, DUE, HELD, DESERTED = 2000, 2000, 50, 40, 40


@pytest.fixture(scope="module", autouse=True)
def finished_rows(django_db_setup, django_db_blocker):
    """Filled once for all tests here, with the statistics of a time when nothing was waiting or running."""
    with django_db_blocker.unblock():
        rows.run("ALTER TABLE jobs_job SET (autovacuum_enabled = false)")  # statistics change only when we say so
        rows.add_finished()
        rows.analyse()
        yield
        rows.empty()
        rows.run("ALTER TABLE jobs_job RESET (autovacuum_enabled)")
        connection.close()


@pytest.fixture(params=["fresh statistics", "stale statistics"])
def site(request):
    """A busy moment: jobs ready, scheduled, due and running; half of the running ones by a worker that is gone."""
    worker, gone = make_worker("here", slots=HELD), make_worker("gone")
    claim_id = uuid4()
    rows.add_pending(READY)
    rows.add_pending(LATER, due_in="1 day")
    rows.add_pending(DUE, due_in="-1 second")
    rows.add_running(HELD, worker.pk, claim_id)
    rows.add_running(DESERTED, gone.pk, uuid4(), lease="-1 hour")
    rows.run("UPDATE jobs_worker SET status = 'offline' WHERE name = 'gone'")
    if request.param == "fresh statistics":
        rows.analyse()
    return Site(worker, claim_id)


class Site:
    def __init__(self, worker, claim_id):
        self.worker = worker
        held = Job.objects.filter(worker=worker, status=Status.RUNNING).values_list("pk", flat=True)
        self.refs = [ClaimRef(job_id, claim_id) for job_id in held]


def test_claim_reads_what_it_takes(site):
    assert_frugal(scans_of(partial(claim, site.worker, ["q1"], 10)), at_most=2 * DUE + 3 * HELD + 50)


def test_claim_from_all_queues_reads_what_it_takes(site):
    assert_frugal(scans_of(partial(claim, site.worker, [], 10)), at_most=2 * DUE + 3 * HELD + 100)


@pytest.mark.parametrize("queues", [(), ("q1",), ("q3", "q1")])
def test_a_plain_claim_reads_what_it_takes(site, queues):
    take = partial(take_plainly, site.worker, queues, 10, uuid4(), (), ())
    assert_frugal(scans_of(take), at_most=2 * DUE + 3 * HELD + 100)


def test_claim_of_what_is_behind_isolated_jobs_reads_as_far_as_it_looks(site):
    for room in (0, 1):
        take = partial(claim, site.worker, ["q1"], 10, isolated_kinds=["test.noop"], isolated_limit=room)
        twice = 2 * (READY // 5)  # once more when those that are due have come in
        assert_frugal(scans_of(take), at_most=2 * DUE + 3 * HELD + twice + DUE + 50)


def test_claim_beside_paused_queues_reads_their_heads_only(site):
    for queue in ("q0", "q1", "q2", "q3"):
        pause(queue)
    assert_frugal(scans_of(partial(claim, site.worker, [], 10)), at_most=2 * DUE + 3 * HELD + 100)


def test_when_the_next_job_is_due_is_seen_at_the_front_of_its_index(site):
    scans = scans_of(next_due_in)
    assert_frugal(scans, at_most=2)
    assert {scan.index for scan in scans} == {"job_due"}


def test_an_idle_worker_looks_at_the_fronts_of_indexes(site):
    scans = scans_of(partial(outlook, site.worker.pk))
    assert_frugal(scans, at_most=2)
    assert {scan.index for scan in scans} == {"job_ready", "job_due"}


def test_heartbeat_reads_the_workers_jobs(site):
    assert_frugal(scans_of(partial(heartbeat, site.worker.pk, site.refs)), at_most=5 * HELD)


def test_report_reads_its_job(site):
    assert_frugal(scans_of(partial(report, Report(site.refs[0], progress=50))), at_most=5)


@pytest.mark.parametrize(
    "outcome", [Outcome.completed, partial(Outcome.failed, error="broken"), partial(Outcome.crashed, error="killed")]
)
def test_finish_of_a_batch_reads_its_jobs(site, outcome):
    outcomes = [outcome(ref) for ref in site.refs]
    assert_frugal(scans_of(partial(finish, outcomes)), at_most=5 * HELD)


def test_finish_with_lost_claims_reads_the_history_of_their_jobs_only(site):
    ended = list(Job.objects.filter(status=Status.COMPLETED).values_list("pk", flat=True)[:50])
    outcomes = [Outcome.completed(ClaimRef(job_id, uuid4())) for job_id in ended]
    assert_frugal(scans_of(partial(finish, outcomes)), at_most=50 * 5)


def test_reap_reads_running_jobs(site):
    assert_frugal(scans_of(partial(reap_once, here=this_process())), at_most=20 * (HELD + DESERTED))


def test_depth_reads_the_heads_of_the_queues(site):
    assert_frugal(scans_of(queue_depths), at_most=DUE + 100)


def test_holdings_read_running_jobs(site):
    assert_frugal(scans_of(holdings), at_most=HELD + DESERTED)


def test_enqueue_with_a_key_reads_the_job_that_keeps_it(site):
    kept = Job.objects.filter(unique_ever=True, status=Status.COMPLETED).exclude(dedupe_key=None)[:1].get()
    add = partial(enqueue, "test.noop", queue=kept.queue, dedupe_key=kept.dedupe_key)
    assert not add().created
    assert_frugal(scans_of(add), at_most=2)
    assert_frugal(scans_of(partial(add, force=True)), at_most=5)


def test_enqueue_of_many_keys_reads_the_jobs_that_keep_them(site):
    kept = Job.objects.filter(unique_ever=True, status=Status.COMPLETED).exclude(dedupe_key=None)[:200]
    jobs = [NewJob("test.noop", queue=job.queue, dedupe_key=job.dedupe_key) for job in kept]
    assert_frugal(scans_of(partial(enqueue_many, jobs)), at_most=1000)


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
def test_marking_stale_reads_one_batch(site, status):
    verb = partial(first_batch, ended_before(status, timedelta(hours=1)), "finished_at", partial(mark_stale, status))
    assert_frugal(scans_of(verb), at_most=2000)


def test_deleting_stale_jobs_reads_one_batch(site, settings):
    settings.JOBS_RETENTION_STALE_FOR = 3600
    assert_frugal(scans_of(delete_first_batch), at_most=500 * 10)


def test_what_was_marked_since_the_statistics_were_made_is_locked_by_its_ids(settings):
    """To them the index of what is stale is empty: a statement that may choose reads all of it, for each batch."""
    settings.JOBS_RETENTION_STALE_FOR = 3600
    stale = "id IN (SELECT id FROM jobs_job WHERE finished_at < now() - interval '25 days')"
    rows.run("UPDATE jobs_job SET stale_at = NULL WHERE stale_at IS NOT NULL")
    rows.analyse()
    rows.run(f"UPDATE jobs_job SET stale_at = now() - interval '1 day' WHERE {stale}")
    found, locked, *_ = [scan for scan in scans_of(delete_first_batch) if scan.table == "jobs_job"]
    assert (found.index, locked.index) == ("job_stale", "jobs_job_pkey")
    assert locked.visited == found.visited == MOST


def delete_first_batch() -> int:
    return first_batch(Job.objects.filter(long_stale()), "stale_at", delete_stale)


def first_batch(rows: JobQuerySet, by: str, deal: Deal) -> int:
    """Of a sweep; the one that goes on from there reads no more."""
    answers = iter([True])
    return Sweep(lambda: next(answers, False)).run(rows, by, deal)


def test_a_sweep_goes_on_where_it_was_without_reading_what_is_behind(site):
    middle = Job.objects.filter(status=Status.COMPLETED).order_by("finished_at").values_list("finished_at", "pk")[300]
    rest = beyond(ended_before(Status.COMPLETED, timedelta(hours=1)), "finished_at", middle)
    ids = rest.order_by("finished_at", "pk").values_list("pk", flat=True)
    assert_frugal(scans_of(lambda: list(ids[:50])), at_most=60)


@pytest.mark.parametrize("status", ["pending", "running"])
def test_cancel_by_filter_finds_active_jobs_without_the_finished_ones(site, status):
    which = find_jobs(JobFilter(statuses=(status,), queue="q1"))
    assert_frugal(scans_of(lambda: ids_of(which)), at_most=READY + LATER + DUE)


def test_retry_by_filter_finds_failed_jobs_without_the_others(site):
    which = find_jobs(JobFilter(statuses=("failed",), queue="q1"))
    failed, stale = rows.FINISHED // 20, rows.FINISHED // 10
    assert_frugal(scans_of(lambda: ids_of(which)), at_most=failed + stale)


def test_retry_by_scope_reads_the_jobs_of_the_scope(site):
    which = find_jobs(JobFilter(statuses=("failed", "cancelled"), scope="library0"))
    assert_frugal(scans_of(partial(retry, which)), at_most=10 * rows.FINISHED // 1000)


@pytest.fixture
def counted(site):
    """The counters say what the table holds."""
    rows.count()


@pytest.mark.parametrize("state", ["claimed", "expired", "stalled"])
def test_a_page_of_running_jobs_reads_running_jobs(site, counted, state):
    assert_frugal(scans_of(partial(job_page, JobFilter(states=(state,)))), at_most=HELD + DESERTED)


@pytest.mark.parametrize("state", ["unclaimed", "scheduled", "retrying"])
def test_a_page_of_waiting_jobs_reads_waiting_jobs(site, counted, state):
    assert_frugal(scans_of(partial(job_page, JobFilter(states=(state,)))), at_most=READY + LATER + DUE)


def test_a_page_of_failed_jobs_reads_failed_jobs(site, counted):
    failed, stale = rows.FINISHED // 20, rows.FINISHED // 10
    which = JobFilter(states=("failed",), queue="q0")
    assert_frugal(scans_of(partial(job_page, which)), at_most=failed + stale)


@pytest.mark.parametrize("which", [JobFilter(), JobFilter(states=("completed",)), JobFilter(queue="q1")])
def test_a_page_of_what_there_is_much_of_reads_little_more_than_itself(site, counted, which):
    middle = rows.FINISHED // 2 + Job.objects.order_by("pk").values_list("pk", flat=True)[:1].get()
    for where in ({}, {"before": middle}, {"after": middle}):
        scans = scans_of(partial(job_page, which, **where))
        assert {scan.index for scan in scans} == {"jobs_job_pkey"}, scans
        assert sum(scan.visited for scan in scans) <= READY + LATER + DUE + HELD + DESERTED + 600, scans


def test_the_next_batch_of_all_that_match_is_found_by_index(site, counted):
    first = Job.objects.order_by("pk").values_list("pk", flat=True)[:1].get()
    scans = scans_of(partial(matching, JobFilter(states=("failed",)), after=first, upto=2**62, size=500))
    assert "Seq Scan" not in {scan.node for scan in scans}
