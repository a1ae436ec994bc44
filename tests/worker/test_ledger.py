"""The ledger: which claims a worker holds, and until when at least."""

from datetime import timedelta

from jobs.worker.ledger import Ledger
from tests.handlers.reporter import a_claimed_job


def test_a_lease_is_counted_from_a_moment_before_it_was_given_or_renewed():
    job = a_claimed_job(lease=timedelta(seconds=30))
    ledger = Ledger()
    ledger.add([job], 100.0)
    assert ledger.lease_ends_at(job) == 130.0
    ledger.renewed([job.claim], 120.0)
    assert ledger.lease_ends_at(job) == 150.0


def test_it_lists_what_is_held_and_not_what_was_dropped():
    first, second = a_claimed_job(), a_claimed_job()
    ledger = Ledger()
    ledger.add([first, second], 1.0)
    ledger.drop([first.claim])
    ledger.drop([first.claim])
    assert ledger.claims() == [second.claim]


def test_a_beat_that_was_under_way_does_not_bring_back_what_was_dropped_meanwhile():
    job = a_claimed_job(lease=timedelta(seconds=30))
    ledger = Ledger()
    ledger.add([job], 100.0)
    ledger.drop([job.claim])
    ledger.renewed([job.claim], 120.0)
    assert ledger.claims() == []
    assert ledger.lease_ends_at(job) < 0  # long ago on any clock


def test_while_a_claim_is_being_made_its_list_may_not_be_all():
    job = a_claimed_job()
    ledger = Ledger()
    assert ledger.listed() == ([], True)
    with ledger.claiming():
        assert ledger.listed() == ([], False)
        ledger.add([job], 1.0)
    assert ledger.listed() == ([job.claim], True)
