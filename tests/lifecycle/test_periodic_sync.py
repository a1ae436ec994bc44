"""What the code declares becomes rows; what an operator edited stays, until it is reset."""

import logging
from dataclasses import replace

import pytest

from jobs.exceptions import InvalidInput, PeriodicJobDeclared, PeriodicJobNotFound
from jobs.handlers.periodic import Declaration
from jobs.lifecycle.periodic.edit import edit, remove, reset
from jobs.lifecycle.periodic.sync import SyncResult, sync, usable
from jobs.lifecycle.periodic.tick import tick_once
from jobs.models import Job, PeriodicJob
from tests.factories import make_due, make_periodic, ticks_of

KINDS = ["test.noop"]
NIGHTLY = Declaration("nightly", "test.noop", "0 3 * * *", "Europe/Berlin", {"month": 5})


def row(name: str = "nightly") -> PeriodicJob:
    return PeriodicJob.objects.get(name=name)


def test_a_declaration_becomes_a_row_that_is_due_next_time():
    assert sync([NIGHTLY], KINDS) == SyncResult(added=["nightly"])
    added = row()
    assert (added.schedule, added.payload, added.declared, added.edited) == (
        "0 3 * * *",
        {"month": 5},
        NIGHTLY.terms(),
        [],
    )
    assert added.next_at
    assert added.last_at is None


def test_to_say_the_same_again_writes_nothing(django_assert_num_queries):
    sync([NIGHTLY], KINDS)
    before = PeriodicJob.objects.values().get()
    with django_assert_num_queries(4):  # begin, the names, the rows, and the end
        assert sync([NIGHTLY], KINDS) == SyncResult()
    assert PeriodicJob.objects.values().get() == before


def test_the_code_s_new_word_counts_where_nobody_edited():
    sync([NIGHTLY], KINDS)
    edit("nightly", payload={"month": 6}, enabled=False)
    newer = replace(NIGHTLY, schedule="0 4 * * *", payload={"month": 7}, queue="slow")
    assert sync([newer], KINDS) == SyncResult(changed=["nightly"])
    now_so = row()
    assert (now_so.schedule, now_so.queue) == ("0 4 * * *", "slow")
    assert (now_so.payload, now_so.enabled, now_so.next_at) == ({"month": 6}, False, None)
    assert now_so.edited == ["payload", "enabled"]


def test_reset_brings_the_code_s_word_back():
    sync([NIGHTLY], KINDS)
    assert edit("nightly", schedule="@hourly", priority=3) == ["schedule", "priority"]
    hourly = row().next_at
    assert reset("nightly") == ["schedule", "priority"]
    assert (row().schedule, row().priority, row().edited) == ("0 3 * * *", 0, [])
    assert row().next_at != hourly
    assert reset("nightly") == []


def test_to_edit_back_by_hand_is_no_edit_any_more():
    sync([NIGHTLY], KINDS)
    edit("nightly", enabled=False)
    assert edit("nightly", enabled=True) == ["enabled"]
    assert row().edited == []
    assert edit("nightly", enabled=True) == []


def test_what_vanished_from_the_code_ticks_no_more_and_comes_back_as_it_was():
    sync([NIGHTLY], KINDS)
    edit("nightly", payload={"month": 6})
    assert sync([], KINDS) == SyncResult(gone=["nightly"])
    assert row().gone_at
    assert row().next_at is None
    assert tick_once().next_in is None
    assert sync([], KINDS) == SyncResult()
    edit("nightly", schedule="every 1s")
    assert row().next_at is None, "also when somebody edits it"
    assert sync([NIGHTLY], KINDS) == SyncResult(changed=["nightly"])
    assert (row().gone_at, row().payload, row().schedule) == (None, {"month": 6}, "every 1s")
    assert row().next_at


def test_of_a_kind_without_a_handler_here_nothing_is_concluded():
    sync([NIGHTLY], KINDS)
    assert sync([], ["another.kind"]) == SyncResult()
    assert row().gone_at is None


def test_one_made_by_hand_never_vanishes_and_is_adopted_with_its_differences():
    make_periodic("nightly", "0 5 * * *", timezone="Europe/Berlin", payload={"month": 5})
    assert sync([], KINDS) == SyncResult()
    assert sync([NIGHTLY], KINDS) == SyncResult(changed=["nightly"])
    assert (row().schedule, row().edited, row().declared) == ("0 5 * * *", ["schedule"], NIGHTLY.terms())


def test_a_new_payload_loses_no_tick_that_was_missed():
    sync([replace(NIGHTLY, schedule="every 1h")], KINDS)
    missed = make_due(row())
    sync([replace(NIGHTLY, schedule="every 1h", payload={})], KINDS)
    assert row().next_at == missed
    sync([replace(NIGHTLY, schedule="every 2h", payload={})], KINDS)
    assert row().next_at != missed, "but other times begin now"


def test_one_that_cannot_be_stored_keeps_no_other_away(caplog):
    bad = replace(NIGHTLY, name="bad", payload={"nul": "\x00"})
    with caplog.at_level(logging.ERROR, "jobs.periodic"):
        assert usable([bad, NIGHTLY]) == [NIGHTLY]
    assert "periodic job cannot be used name=bad" in caplog.text


def test_only_what_no_code_declares_is_removed():
    sync([NIGHTLY], KINDS)
    make_periodic("mine"), make_due(row("mine"))
    tick_once()
    with pytest.raises(PeriodicJobDeclared, match="nightly is declared in the code, which would bring it back"):
        remove("nightly")
    sync([], KINDS)
    for name in ("nightly", "mine"):
        remove(name)
    assert not PeriodicJob.objects.exists()
    with pytest.raises(PeriodicJobNotFound, match="There is no periodic job 'mine'"):
        remove("mine")


def test_removed_and_declared_anew_it_enqueues_no_tick_again():
    for _ in range(2):
        made = make_periodic()
        make_due(made)
        result = tick_once()
        remove("nightly")
    assert result.enqueued == [Job.objects.get().pk]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"schedule": "0 0 30 2 *"}, "no month that it names has a day 30"),
        ({"timezone": "Mars"}, "There is no time zone 'Mars'"),
        ({"payload": []}, "it must be a JSON object"),
        ({"payload": {"nul": "\x00"}}, "a NUL character"),
        ({"catch_up": "all", "overlap": False}, "choose catch_up='one'"),
        ({"kind": "another"}, "A periodic job has no kind; choose from schedule"),
    ],
)
def test_an_edit_that_cannot_work_is_refused_and_changes_nothing(changes, said):
    made = make_periodic()
    with pytest.raises(InvalidInput) as caught:
        edit("nightly", **changes)
    assert said in str(caught.value)
    assert PeriodicJob.objects.get().as_declaration() == made.as_declaration()


def test_what_is_added_needs_a_name_of_its_own_and_a_kind_that_is_known():
    make_periodic()
    with pytest.raises(InvalidInput, match="There is a periodic job 'nightly' already; choose another name"):
        make_periodic()
    with pytest.raises(InvalidInput, match=r"No handler is registered for the kind 'no\.such'"):
        make_periodic("other", kind="no.such")
    assert ticks_of(row()) == []


def test_what_was_made_by_hand_has_nothing_to_be_reset_to():
    make_periodic()
    with pytest.raises(InvalidInput, match="was made by hand"):
        reset("nightly")
