"""Somebody left a session open in the middle of a transaction: claims go on, and people are told."""

import psycopg
import pytest

from jobs.alerts.watching import look_once
from jobs.lifecycle.claim import claim
from jobs.lifecycle.finish import complete
from jobs.lifecycle.reap import reap_once
from jobs.states import Status
from tests.factories import make_job, make_worker, reload
from tests.manage import database_url

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


def test_claims_go_on_beside_a_session_that_is_idle_in_its_transaction_and_an_alert_names_it(settings):
    settings.JOBS_ALERT_LONG_TRANSACTION = 0.01  # for hours, as seen from here
    held, free = make_job(), make_job()
    worker = make_worker()
    with psycopg.connect(database_url()) as forgotten:
        forgotten.execute("SELECT id FROM jobs_job WHERE id = %s FOR UPDATE", [held.pk])
        (taken,) = claim(worker, limit=5)
        assert taken.id == free.pk  # the row that is locked is passed over
        complete(taken.claim)
        reap_once()
        assert reload(free.pk).status == Status.COMPLETED
        raised = [alert.name for alert in look_once([], []).raised]
        assert "long_transaction" in raised
    (taken,) = claim(worker, limit=5)
    assert taken.id == held.pk
