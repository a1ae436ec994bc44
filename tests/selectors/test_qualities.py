"""Qualities that children work on are what these tell of them; all others what the job told itself."""

from datetime import timedelta

import pytest

from jobs.handlers.base import Outcome, QualityReport, Report, Spawn
from jobs.lifecycle.finish import finish_one
from jobs.lifecycle.report import report
from jobs.lifecycle.spawn import spawn
from jobs.models import QualityProgress
from jobs.selectors.qualities import qualities_of
from jobs.states import QualityStatus
from tests.factories import claimed, make_job, make_worker, reload

pytestmark = pytest.mark.django_db


def told(job_id: int) -> list[tuple[str, str, int, int]]:
    rows = qualities_of([job_id])[job_id]
    return [(row.name, row.status, row.progress, row.segments_completed) for row in rows]


def begin(name: str, total: int | None, done: int = 0) -> QualityReport:
    status = QualityStatus.IN_PROGRESS
    return QualityReport(name, status, segments_total=total, segments_completed=done, progress=done)


def test_segments_of_children_add_up_while_their_parent_waits():
    worker = make_worker()
    ref = claimed(worker, make_job())
    report(Report(ref, qualities=[begin("720p", 10), begin("360p", 10), begin("sound", None)]))
    children = [reload(child.id) for child in spawn(ref, [Spawn("test.noop", {}, key) for key in "abc"])]
    first, second = claimed(worker, children[0]), claimed(worker, children[1])
    report(Report(first, qualities=[begin("720p", 4, 3), begin("sound", 1, 1)]))
    report(Report(second, qualities=[begin("720p", 4, 4), begin("4k", 1, 1)]))
    in_progress, pending = QualityStatus.IN_PROGRESS, QualityStatus.PENDING
    assert told(ref.job_id) == [(name, in_progress, 0, 0) for name in ("720p", "360p", "sound")]  # it tells itself
    finish_one(Outcome.waiting(ref, None))
    assert told(ref.job_id) == [("720p", in_progress, 70, 7), ("360p", pending, 0, 0), ("sound", pending, 0, 0)]
    QualityProgress.objects.filter(job=first.job_id).update(segments_total=9, segments_completed=9)
    assert told(ref.job_id)[0] == ("720p", in_progress, 99, 10)  # the parent has the last word


def test_the_time_left_is_as_fast_as_so_far():
    worker = make_worker()
    ref = claimed(worker, make_job())
    report(Report(ref, qualities=[begin("720p", 10)]))
    [child] = spawn(ref, [Spawn("test.noop", {}, "a")])
    mine = claimed(worker, reload(child.id))
    report(Report(mine, qualities=[begin("720p", 5, 4)]))
    finish_one(Outcome.waiting(ref, None))
    job = reload(mine.job_id)
    assert job.progressed_at is not None
    QualityProgress.objects.filter(job=job).update(started_at=job.progressed_at - timedelta(seconds=20))
    assert qualities_of([ref.job_id])[ref.job_id][0].details["eta"] == 30
