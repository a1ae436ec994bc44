"""Words on their way: packed together where they are alike, and the same when they arrive."""

import pickle
from uuid import uuid4

from jobs.handlers.base import ClaimRef, Outcome, Report
from jobs.worker.messages import Asked, Completed, Ended, Told, Word, packed, unpacked

FIRST, SECOND = uuid4(), uuid4()


def ended(job_id: int, claim_id=FIRST, result: object = None) -> Ended:
    claim = ClaimRef(job_id, claim_id)
    return Ended(claim, Outcome.completed(claim, result), job_id / 1000)


def test_they_arrive_as_they_were_said_and_in_order():
    lost = Ended(ClaimRef(9, FIRST), None, 0.5)
    failed = Ended(ClaimRef(8, FIRST), Outcome.failed(ClaimRef(8, FIRST), "broken"), 0.1)
    words: list[Word] = [
        ended(1), ended(2), Told(Report(ClaimRef(3, FIRST), progress=5)), ended(3), ended(4, SECOND), ended(5, SECOND),
        ended(6, FIRST, {"pages": 2}), Asked(1, ClaimRef(7, FIRST)), lost, failed, ended(10),
    ]  # fmt: skip
    assert unpacked(pickle.loads(pickle.dumps(packed(words)))) == words


def test_what_ended_alike_is_one_word():
    words = [ended(number) for number in range(100)]
    [word] = packed(words)
    assert isinstance(word, Completed)
    assert len(pickle.dumps(packed(words))) < len(pickle.dumps(words)) / 3
