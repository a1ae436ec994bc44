"""After the API was away, live remote workers are not judged; a dead one is, while the API lives."""

import pytest

from jobs.lifecycle.grace import API, beat_api
from jobs.lifecycle.reap import reap_once
from jobs.models import ServiceBeat
from jobs.states import Status, WorkerStatus
from tests.api.worker.calls import machine
from tests.factories import age, claimed, make_job, make_worker, reload, shift

pytestmark = pytest.mark.django_db


def test_nobody_is_judged_while_the_api_is_away_and_for_the_grace_after():
    box = machine()
    job = make_job()
    claim_id = box.claimed(job)
    direct = claimed(make_worker("direct"))
    beat_api()
    age(600)  # as `age` has it, services beat all the time:
    shift(ServiceBeat, 600)  # but not this time
    ServiceBeat.objects.exclude(name=API).delete()
    assert reap_once().in_grace
    assert (reload(job).status, box.worker.status) == (Status.RUNNING, WorkerStatus.BUSY)
    assert reload(direct).status == Status.PENDING  # who needs no API is not shielded by it
    beat_api()
    age(100)
    beat_api()
    assert reap_once().in_grace
    assert box.post("heartbeat", {"claims": [{"job_id": job.pk, "claim_id": claim_id}]}).json()["orders"] == {}
    assert box.verify(job.pk, claim_id).status_code == 200


def test_who_does_not_come_back_within_the_grace_is_judged():
    box = machine()
    job = make_job()
    box.claimed(job)
    beat_api()
    age(600)
    shift(ServiceBeat, 600)
    beat_api()
    age(121)
    beat_api()
    reap_once()
    assert (reload(job).status, box.worker.status) == (Status.PENDING, WorkerStatus.OFFLINE)


def test_a_worker_that_dies_while_the_api_lives_is_found():
    box = machine()
    job = make_job()
    box.claimed(job)
    beat_api()
    age(300)
    beat_api()
    assert not reap_once().in_grace
    assert reload(job).status == Status.PENDING


def test_an_api_that_stays_away_shields_nobody_for_ever():
    box = machine()
    job = make_job()
    box.claimed(job)
    beat_api()
    age(2760)
    shift(ServiceBeat, 2760)
    reap_once()
    assert reload(job).status == Status.PENDING


def test_without_remote_workers_the_api_writes_nothing():
    make_worker()
    beat_api()
    assert not ServiceBeat.objects.filter(name=API).exists()
