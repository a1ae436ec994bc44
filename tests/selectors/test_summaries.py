"""What streams tell of a job."""

import pytest

from jobs.selectors.summaries import summaries_of
from jobs.states import Status
from tests.factories import completed_at_second_try, job_in

pytestmark = pytest.mark.django_db


def test_the_error_of_a_job_is_told_unless_a_later_attempt_completed_it():
    failed, completed = job_in(Status.FAILED), completed_at_second_try()
    told = summaries_of([failed.pk, completed.pk])
    assert (told[failed.pk]["error"], told[completed.pk]["error"]) == ("broken", None)
