"""The contract of the lifecycle: whatever is done in whatever order, on either engine."""

import pytest

# Assertions outside of test modules tell what differs, too.
pytest.register_assert_rewrite("tests.contract.invariants", "tests.contract.lifecycle_machine")
