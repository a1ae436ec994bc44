"""What passes between a worker's processes says the same on the other side."""

import copy
import pickle
from uuid import uuid4

import pytest

from jobs.handlers.base import UNSET, ClaimRef, Report


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_report_that_mentions_no_checkpoint_mentions_none_after_a_pipe(protocol):
    report = Report(ClaimRef(7, uuid4()), progress=5)
    assert pickle.loads(pickle.dumps(report, protocol)) == report
    assert pickle.loads(pickle.dumps(report, protocol)).checkpoint is copy.deepcopy(report).checkpoint is UNSET
