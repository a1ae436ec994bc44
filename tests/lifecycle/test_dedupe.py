"""Dedupe: at most one active job per queue and key; `ever` counts ended ones, `force` overrides that."""

import hashlib
import json

import pytest
from django.db import transaction

from jobs.handlers.keys import derived_key
from jobs.lifecycle.clear import clear
from jobs.lifecycle.enqueue import Enqueued, enqueue
from jobs.models import Job
from jobs.states import TERMINAL, Status
from tests.factories import claimed, events_of, job_in, make_job, reload


def test_without_a_key_nothing_is_a_duplicate():
    assert enqueue("test.noop", {"a": 1}).created
    assert enqueue("test.noop", {"a": 1}).created


def test_an_active_duplicate_is_met_and_left_as_it_is():
    first = enqueue("test.noop", {"a": 1}, dedupe_key="k")
    again = enqueue("test.noop", {"a": 2}, dedupe_key="k", priority=9)
    assert again == Enqueued(first.job_id, created=False)
    met = reload(first.job_id)
    assert (met.payload, met.priority) == ({"a": 1}, 0)
    assert events_of(met) == ["enqueued"]
    assert Job.objects.count() == 1


def test_a_running_job_keeps_its_key():
    claim = claimed(dedupe_key="k")
    assert enqueue("test.noop", dedupe_key="k") == Enqueued(claim.job_id, created=False)


def test_the_same_key_in_another_queue_is_another_job():
    make_job(dedupe_key="k", queue="a")
    assert enqueue("test.noop", dedupe_key="k", queue="b").created


@pytest.mark.parametrize("status", TERMINAL)
def test_an_ended_job_frees_its_key(status):
    job_in(status, dedupe_key="k")
    assert enqueue("test.noop", dedupe_key="k").created


@pytest.mark.parametrize("status", TERMINAL)
def test_unique_ever_counts_ended_jobs_while_they_exist(status):
    ended = job_in(status, unique="ever")
    assert enqueue("test.noop", unique="ever") == Enqueued(ended.pk, created=False)
    clear(ended.pk)
    assert enqueue("test.noop", unique="ever").created


@pytest.mark.parametrize("status", TERMINAL)
def test_force_overrides_ended_jobs(status):
    ended = job_in(status, unique="ever")
    forced = enqueue("test.noop", unique="ever", force=True)
    assert forced.created
    assert enqueue("test.noop", unique="ever") == Enqueued(forced.job_id, created=False)
    assert reload(ended).status == status


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING])
def test_force_does_not_override_an_active_job(status):
    active = job_in(status, unique="ever")
    assert enqueue("test.noop", unique="ever", force=True) == Enqueued(active.pk, created=False)
    assert reload(active).unique_ever


def test_force_frees_only_the_key_it_asks_for():
    others = [
        job_in(Status.COMPLETED, dedupe_key="other", unique="ever"),
        job_in(Status.COMPLETED, dedupe_key="k", unique="ever", queue="elsewhere"),
    ]
    enqueue("test.noop", dedupe_key="k", force=True)
    assert all(reload(other).unique_ever for other in others)


def test_unique_without_a_key_derives_one_from_kind_and_payload():
    payload = {"b": [1, {"z": "ü", "a": None}], "a": 1.5}
    job = make_job("test.noop", payload, unique="active")
    canonical = json.dumps(["test.noop", payload], sort_keys=True, separators=(",", ":"))
    assert job.dedupe_key == hashlib.sha256(canonical.encode()).hexdigest()[:16]


def test_a_derived_key_is_the_same_on_every_machine_and_for_ever():
    assert derived_key("transcode.hls", {"path": "films/a.mkv", "n": 1}) == "4ab2bafb164eeb9b"
    assert derived_key("transcode.hls", {"n": 1, "path": "films/a.mkv"}) == "4ab2bafb164eeb9b"


@pytest.mark.parametrize(("kind", "payload"), [("test.mine", {"a": 1}), ("test.noop", {"a": 2}), ("test.noop", {})])
def test_another_kind_or_payload_derives_another_key(kind, payload):
    enqueue("test.noop", {"a": 1}, unique="active")
    assert enqueue(kind, payload, unique="active", allow_unknown=True).created


def test_a_given_key_goes_before_a_derived_one():
    assert make_job(unique="active", dedupe_key="given").dedupe_key == "given"


def test_a_rolled_back_job_keeps_no_key():
    with transaction.atomic():
        enqueue("test.noop", dedupe_key="k")
        transaction.set_rollback(True)  # the caller changes its mind
    assert enqueue("test.noop", dedupe_key="k").created
