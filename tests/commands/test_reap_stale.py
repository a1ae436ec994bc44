"""`reap_stale`: heals what crashed workers left behind, once or in a loop."""

import pytest

from jobs.handlers.base import ClaimRef
from jobs.lifecycle.cancel import cancel
from jobs.states import Status
from tests.commands.calls import refused, run, run_json
from tests.factories import age, claimed, make_worker, reload

pytestmark = pytest.mark.django_db

NOTHING = {
    "requeued": [], "failed": [], "cancelled": [], "released": [], "workers_offline": [], "in_grace": False,
    "dry_run": False,
}  # fmt: skip


def lost(name: str = "box", **options) -> ClaimRef:
    """A job whose worker has been silent for an hour."""
    ref = claimed(make_worker(name), **options)
    age(3600)
    return ref


def test_where_all_is_well_it_says_so():
    assert run("reap_stale") == "Nothing to reap.\n"
    assert run_json("reap_stale") == NOTHING


def test_it_says_what_it_did():
    requeued, failed = lost("box-1"), lost("box-2", max_attempts=1, queue="media")
    asked = lost("box\x1b[2J", queue="slow")
    cancel(asked.job_id)
    assert run("reap_stale").splitlines() == [
        f"Requeued: 1 job ({requeued.job_id}).",
        f"Failed, attempts used up: 1 job ({failed.job_id}).",
        f"Cancelled, as was asked: 1 job ({asked.job_id}).",
        "Marked offline: 3 workers (" + named(requeued, failed, asked) + ").",
    ]
    assert reload(requeued).status == Status.PENDING


def named(*refs: ClaimRef) -> str:
    """The workers' names in the order in which the reaper locks them."""
    jobs = [reload(ref) for ref in refs]
    by_id = sorted(jobs, key=lambda job: str(job.last_worker_id))
    return ", ".join(job.last_worker_name.replace("\x1b", r"\x1b") for job in by_id)


def test_the_document_names_every_job_and_worker():
    ref = lost()
    assert run_json("reap_stale") == {**NOTHING, "requeued": [ref.job_id], "workers_offline": ["box"]}


def test_a_dry_run_changes_nothing():
    ref = lost()
    told = run("reap_stale", "--dry-run").splitlines()
    assert told[0].startswith("Dry run: nothing was changed.")
    assert told[1] == f"Requeued: 1 job ({ref.job_id})."
    assert reload(ref).status == Status.RUNNING
    assert run_json("reap_stale", "--dry-run")["dry_run"] is True


@pytest.mark.postgres
def test_in_the_grace_it_says_why_it_waits():
    claimed()
    age(3600, outage=True)
    assert "not judged yet (JOBS_REAP_GRACE)" in run("reap_stale")


@pytest.mark.parametrize("seconds", ["0", "-1", "abc", "nan", "2d", ""])
def test_an_interval_that_makes_no_sense_is_refused(seconds):
    assert refused("reap_stale", f"--loop={seconds}").code == 2


def test_a_loop_needs_an_interval_where_the_setting_has_none(settings):
    settings.JOBS_REAP_INTERVAL = 0
    refusal = refused("reap_stale", "--loop")
    assert refusal.code == 2
    assert "--loop SECONDS" in refusal.sentence
