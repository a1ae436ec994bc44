"""Ten workers that ask at once: one of them gets the turn."""

from functools import partial

import pytest

from jobs.lifecycle import turns
from jobs.lifecycle.reap import reap_in_turn
from tests.concurrency.threads import together
from tests.factories import age

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("seen_before", [False, True])
def test_one_of_ten_gets_the_turn(seen_before):
    if seen_before:
        assert turns.take("chore", 60)
        age(60)
    assert sorted(together([partial(turns.take, "chore", 60)] * 10)) == [False] * 9 + [True]


def test_one_of_ten_reaps():
    for _ in range(3):
        results = together([reap_in_turn] * 10)
        assert 1 <= len([result for result in results if result]) <= 2  # the machine's turn, and that of all
        age(60)
