"""The database itself refuses rows that break a rule, whoever writes them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import IntegrityError, models

from jobs.models import (
    Alert,
    ApiToken,
    Claim,
    Dependency,
    Job,
    Limit,
    MinuteTally,
    Output,
    OutputFile,
    PeriodicJob,
    PeriodicTick,
    PhaseProgress,
    QualityProgress,
    Queue,
    QueueTotal,
    ServiceBeat,
    TotalTally,
    WebhookDelivery,
    Worker,
)
from jobs.states import ACTIVE, Status, WorkerType
from tests.factories import job_in, make_job, make_periodic, make_worker

pytestmark = pytest.mark.django_db
MOMENT, DAY = datetime(2030, 1, 1, tzinfo=UTC), timedelta(days=1)
HELD: dict[str, Any] = {"claim_id": uuid4(), "worker_id": uuid4(), "claimed_at": MOMENT, "lease_expires_at": MOMENT}


def assert_refused(rows: models.QuerySet[Any], by: str, /, **changes: Any) -> None:
    """Not only refused, but by the constraint of this name."""
    with pytest.raises(IntegrityError, match=by):
        rows.update(**changes)


JOB_RULES: list[tuple[Status, dict[str, Any], str]] = [
    (Status.RUNNING, {"progress": 101}, "job_numbers_in_range"),
    (Status.PENDING, {"priority": 101}, "job_numbers_in_range"),
    (Status.PENDING, {"priority": -101}, "job_numbers_in_range"),
    (Status.PENDING, {"status": "paused"}, "job_state_sound"),
    (Status.PENDING, {"attempt": 4}, "job_numbers_in_range"),
    (Status.COMPLETED, {"finished_at": None}, "job_state_sound"),
    (Status.PENDING, {"finished_at": MOMENT}, "job_state_sound"),
    (Status.RUNNING, {"finished_at": MOMENT}, "job_state_sound"),
    (Status.PENDING, {"status": Status.RUNNING}, "job_state_sound"),
    (Status.RUNNING, {"status": Status.PENDING}, "job_state_sound"),
    (Status.PENDING, {"cancel_requested_at": MOMENT}, "job_state_sound"),
    *[(Status.PENDING, {column: value}, "job_state_sound") for column, value in HELD.items()],
    *[(Status.COMPLETED, {column: value}, "job_state_sound") for column, value in HELD.items()],
    *[(Status.RUNNING, {column: None}, "job_state_sound") for column in HELD],
]


@pytest.mark.parametrize(("status", "changes", "name"), JOB_RULES)
def test_a_job_that_breaks_a_rule_is_refused(status, changes, name):
    job_in(status)
    assert_refused(Job.objects.all(), name, **changes)


@pytest.mark.parametrize(
    "column", ["progress", "attempt", "crashes", "unlisted_beats", "max_attempts", "waits_for", "size"]
)
def test_counts_of_a_job_are_never_negative(column):
    make_job()
    with pytest.raises(IntegrityError):
        Job.objects.update(**{column: -1})


@pytest.mark.parametrize("status", ACTIVE)
def test_one_active_job_per_queue_and_key(status):
    job_in(status, dedupe_key="k")
    other = make_job(dedupe_key="other")
    assert_refused(Job.objects.filter(pk=other.pk), "job_one_active_per_key|jobs_job.queue", dedupe_key="k")


def test_a_key_unique_for_ever_is_kept_by_an_ended_job():
    job_in(Status.COMPLETED, dedupe_key="k", unique="ever")
    other = make_job(dedupe_key="other")
    assert_refused(Job.objects.filter(pk=other.pk), "job_one_active_per_key|jobs_job.queue", dedupe_key="k")


def test_an_ended_job_keeps_no_ordinary_key_and_no_key_never_collides():
    job_in(Status.COMPLETED, dedupe_key="k")
    make_job(dedupe_key="k")
    make_job()
    make_job()
    assert Job.objects.count() == 4


PHASE_RULES: list[tuple[dict[str, Any], str]] = [
    ({"progress": 101}, "phase_progress_0_100"),
    ({"progress": -1}, "progress"),
    ({"status": "stuck"}, "phase_status_known"),
    ({"weight": 0}, "phase_weight_positive"),
    ({"weight": -1}, "phase_weight_positive"),
]


@pytest.mark.parametrize(("changes", "name"), PHASE_RULES)
def test_a_phase_that_breaks_a_rule_is_refused(changes, name):
    PhaseProgress.objects.create(job=make_job(), position=0, name="a")
    assert_refused(PhaseProgress.objects.all(), name, **changes)


QUALITY_RULES: list[tuple[dict[str, Any], str]] = [
    ({"progress": 101}, "quality_progress_0_100"),
    ({"progress": -1}, "progress"),
    ({"status": "stuck"}, "quality_status_known"),
    ({"segments_total": 3, "segments_completed": 4}, "quality_segments_fit"),
    ({"segments_completed": -1}, "segments_completed"),
]


@pytest.mark.parametrize(("changes", "name"), QUALITY_RULES)
def test_a_quality_that_breaks_a_rule_is_refused(changes, name):
    QualityProgress.objects.create(job=make_job(), name="720p")
    assert_refused(QualityProgress.objects.all(), name, **changes)


def test_a_phase_is_there_once_per_job():
    job = make_job()
    PhaseProgress.objects.create(job=job, position=0, name="a")
    PhaseProgress.objects.create(job=make_job(), position=0, name="a")
    other = PhaseProgress.objects.create(job=job, position=1, name="b")
    assert_refused(PhaseProgress.objects.filter(pk=other.pk), "phase_once_per_job|phaseprogress.name", name="a")


def test_a_quality_is_there_once_per_job():
    job = make_job()
    QualityProgress.objects.create(job=job, name="720p")
    QualityProgress.objects.create(job=make_job(), name="720p")
    other = QualityProgress.objects.create(job=job, name="1080p")
    rows = QualityProgress.objects.filter(pk=other.pk)
    assert_refused(rows, "quality_once_per_job|qualityprogress.name", name="720p")


@pytest.mark.parametrize(
    ("changes", "name"), [({"status": "lost"}, "worker_status_known"), ({"slots": 0}, "worker_has_a_slot")]
)
def test_a_worker_that_breaks_a_rule_is_refused(changes, name):
    make_worker()
    assert_refused(Worker.objects.all(), name, **changes)


ONCE: dict[str, tuple[type[models.Model], dict[str, Any]]] = {
    "claim id": (Claim, {"id": uuid4(), "worker_id": uuid4()}),
    "queue": (Queue, {"name": "a"}),
    "total_once_per_bucket": (QueueTotal, {"queue": "a", "bucket": "pending"}),
    "service": (ServiceBeat, {"name": "a", "beat_at": MOMENT}),
    "limit_once_per_name": (Limit, {"target": "queue", "name": "a"}),
    "alert_one_per_key": (Alert, {"name": "no_claims", "key": "a", "text": "b", "raised_at": MOMENT}),
    "dependency_one_per_key": (Dependency, {"job_id": 1, "needs_id": 2, "key": "a"}),
    "tally_once_per_minute": (MinuteTally, {"minute": 1, "queue": "a", "kind": "b", "event": "failed"}),
    "tally_once_in_total": (TotalTally, {"queue": "a", "kind": "b", "event": "failed"}),
}


@pytest.mark.parametrize(("model", "row"), ONCE.values(), ids=ONCE)
def test_what_is_there_once_is_there_once(model, row):
    model.objects.create(**row)
    with pytest.raises(IntegrityError):
        model.objects.create(**row)


@pytest.mark.parametrize("changes", [{"rate_jobs": 3}, {"rate_seconds": 60}, {"rate_jobs": 0, "rate_seconds": 60}])
def test_a_rate_has_both_a_number_and_a_period(changes):
    Limit.objects.create(target="queue", name="a")
    assert_refused(Limit.objects.all(), "limit_rate_has_both", **changes)


def test_a_user_has_each_name_of_a_token_once():  # token_name_once_per_user
    anna, ben = (User.objects.create_user(name) for name in ("anna", "ben"))
    for user in (anna, ben):
        ApiToken.objects.create(user=user, name="backups", prefix="p", digest="d")
    other = ApiToken.objects.create(user=anna, name="other", prefix="p", digest="d")
    assert_refused(ApiToken.objects.filter(pk=other.pk), "token_name_once_per_user|apitoken.user_id", name="backups")


def test_a_remote_worker_has_its_name_alone():  # remote_worker_name_once
    make_worker("box")
    make_worker("box", worker_type=WorkerType.REMOTE)
    other = make_worker("other", worker_type=WorkerType.REMOTE)
    assert_refused(Worker.objects.filter(pk=other.pk), "remote_worker_name_once|worker.name", name="box")


@pytest.mark.parametrize("changes", [{"enabled": False}, {"gone_at": MOMENT}])
def test_a_periodic_job_that_is_off_or_gone_has_no_next_tick(changes):
    make_periodic()
    assert_refused(PeriodicJob.objects.all(), "periodic_ticks_only_when_on", **changes)


def test_a_tick_is_there_once():
    one, other = make_periodic("one"), make_periodic("other")
    for periodic in (one, other):
        PeriodicTick.objects.create(periodic=periodic, tick_at=MOMENT)
    later = PeriodicTick.objects.create(periodic=one, tick_at=MOMENT + DAY)
    assert_refused(PeriodicTick.objects.filter(pk=later.pk), "tick_once|periodictick.tick_at", tick_at=MOMENT)


def test_a_job_stays_when_its_workers_row_is_deleted():
    job = job_in(Status.RUNNING)
    Worker.objects.all().delete()
    assert Job.objects.get(pk=job.pk).last_worker_name == "worker"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"status": "lost", "finished_at": MOMENT}, "delivery_status_known"),
        ({"status": "delivered"}, "delivery_finished_iff_ended"),
        ({"finished_at": MOMENT}, "delivery_finished_iff_ended"),
        ({"status": "failed", "finished_at": MOMENT, "claim_id": uuid4()}, "delivery_finished_iff_ended"),
    ],
)
def test_a_webhook_message_that_breaks_a_rule_is_refused(changes, name):
    job_in(Status.COMPLETED, webhook_url="https://example.org/")
    assert_refused(WebhookDelivery.objects.all(), name, **changes)


def test_an_attempt_hands_over_one_folder():
    mine, other = (Output.objects.create(job_id=1, claim_id=uuid4(), folder="made") for _ in range(2))
    rows = Output.objects.filter(pk=other.pk)
    assert_refused(rows, "output_once_per_claim|output.claim_id", claim_id=mine.claim_id)


def test_an_attempt_hands_over_each_file_once():
    made = Output.objects.create(job_id=1, claim_id=uuid4(), folder="made")
    for path in ("a.mp4", "b.mp4"):
        OutputFile.objects.create(output=made, path=path, size=1, sha256="0" * 64)
    assert_refused(OutputFile.objects.filter(path="b.mp4"), "output_file_once|outputfile.path", path="a.mp4")


def test_no_constraint_is_left_out_here():
    tables = apps.get_app_config("jobs").get_models()
    named = {constraint.name for table in tables for constraint in table._meta.constraints}
    here = Path(__file__).read_text()
    assert named
    assert {name for name in named if name not in here} == set()
