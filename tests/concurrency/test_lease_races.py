"""A lease that ends while its holder waits for a row lock: the guard looks at the clock again, once it has the lock."""

from datetime import timedelta
from functools import partial

import pytest
from django.db import transaction

from jobs.db import Now
from jobs.exceptions import ClaimExpired
from jobs.handlers.base import Report
from jobs.lifecycle.finish import complete
from jobs.lifecycle.heartbeat import heartbeat
from jobs.lifecycle.report import report
from jobs.lifecycle.start import start
from jobs.models import Job
from jobs.states import Status
from tests.concurrency.threads import Running, scalar, wait_until
from tests.factories import claimed, make_worker, reload

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def ends_soon(ref, seconds=0.4):
    Job.objects.filter(pk=ref.job_id).update(lease_expires_at=Now() + timedelta(seconds=seconds))


def lease_is_over(ref):
    return scalar("SELECT lease_expires_at < clock_timestamp() FROM jobs_job WHERE id = %s", ref.job_id)


WRITES = {
    "complete": complete,
    "report": lambda ref: report(Report(ref, progress=50)),
    "start": start,
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_is_refused_if_the_lease_ended_while_it_waited(write):
    worker = make_worker()
    ref = claimed(worker, start=False)
    ends_soon(ref)
    with transaction.atomic():
        Job.objects.filter(pk=ref.job_id).update(subject="changed by somebody")
        writing = Running(partial(write, ref))
        writing.wait_until_blocked()
        wait_until(lambda: lease_is_over(ref))
    with pytest.raises(ClaimExpired):
        writing.result()
    job = reload(ref)
    assert (job.status, job.progress, job.attempt) == (Status.RUNNING, 0, 0)
    heartbeat(worker.pk, [ref])  # nobody took the job, so its holder renews the claim and repeats the write
    write(ref)


def test_a_write_that_waited_within_its_lease_is_accepted():
    ref = claimed()
    with transaction.atomic():
        Job.objects.filter(pk=ref.job_id).update(subject="changed by somebody")
        writing = Running(partial(complete, ref))
        writing.wait_until_blocked()
    assert writing.result().status == Status.COMPLETED


def test_a_renewed_lease_counts_from_the_moment_the_row_was_free():
    ref = claimed()
    with transaction.atomic():
        Job.objects.filter(pk=ref.job_id).update(subject="changed by somebody")
        reporting = Running(partial(report, Report(ref, progress=50)))
        reporting.wait_until_blocked()
        waited_until = scalar("SELECT clock_timestamp()")
    reporting.result()
    job = reload(ref)
    assert job.lease_expires_at >= waited_until + job.lease
