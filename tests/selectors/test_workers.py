"""Who is there, and who holds what, on which machine, since when."""

import pytest

from jobs.lifecycle.workers import disable, sign_off
from jobs.models import Worker
from jobs.process_identity import ProcessIdentity
from jobs.selectors.workers import holdings, workers_by_status
from jobs.states import ShownState
from tests.factories import age, claimed, make_job, make_worker

pytestmark = pytest.mark.django_db


def test_workers_are_counted_by_status_and_no_status_is_left_out():
    assert workers_by_status() == {"active": 0, "idle": 0, "busy": 0, "offline": 0, "disabled": 0}
    make_worker(beaten=False)
    make_worker()
    claimed(make_worker())
    sign_off(make_worker().pk)
    disable(make_worker().pk)
    assert workers_by_status() == dict.fromkeys(("active", "idle", "busy", "offline", "disabled"), 1)


def test_holdings_say_who_holds_what_the_longest_held_first():
    make_job(queue="waiting")
    first = claimed(make_worker("w1", process=ProcessIdentity("host1", 11)))
    age(60)
    second = claimed(make_worker("w2", process=ProcessIdentity("host2", 22)))
    held = holdings()
    assert [(each.job.pk, each.hostname, each.pid) for each in held] == [
        (first.job_id, "host1", 11),
        (second.job_id, "host2", 22),
    ]
    assert [each.job.last_worker_name for each in held] == ["w1", "w2"]
    assert {job.state for job in (each.job for each in held)} == {ShownState.CLAIMED}  # type: ignore[attr-defined]  # annotated
    assert len(holdings(limit=1)) == 1


def test_a_job_whose_workers_row_is_gone_is_still_listed():
    ref = claimed(make_worker("gone"))
    Worker.objects.all().delete()
    [held] = holdings()
    assert (held.job.pk, held.hostname, held.pid, held.job.last_worker_name) == (ref.job_id, "", 0, "gone")
