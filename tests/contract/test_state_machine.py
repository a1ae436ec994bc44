"""Any order of verbs, any mixture of current and stale claims: the invariants hold, and a plain model agrees."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.contract.lifecycle_machine import Lifecycle

EXAMPLES = os.environ.get("JOBYARD_EXAMPLES")  # more of them, and different ones each time, outside `make test`


@pytest.mark.django_db
def test_any_sequence_of_verbs_keeps_the_invariants():
    run_state_machine_as_test(
        Lifecycle,
        settings=settings(
            max_examples=int(EXAMPLES or 10),
            stateful_step_count=50,
            deadline=None,
            derandomize=EXAMPLES is None,
            database=None,
            print_blob=False,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
