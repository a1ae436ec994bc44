"""The checker keeps what many jobs have in common, but never longer than it is true."""

from typing import Any

import pytest

from jobs.exceptions import InvalidInput
from jobs.handlers.registry import Kind, registry
from jobs.lifecycle import checker
from jobs.lifecycle.checker import Checker, check, lately
from jobs.lifecycle.enqueue import enqueue
from jobs.lifecycle.new_job import NewJob
from tests.factories import reload


def terms_of(kind: str = "test.noop", **options):
    return check(NewJob(kind, **options)).terms


def test_who_says_the_same_shares_its_terms():
    assert terms_of() is terms_of()
    assert terms_of(queue="slow") is not terms_of()
    assert terms_of(queue="slow") is terms_of(queue="slow")


def test_a_changed_setting_counts_at_once(settings):
    before = terms_of().max_attempts
    settings.JOBS_MAX_ATTEMPTS = before + 4
    assert terms_of().max_attempts == before + 4


def test_what_is_in_the_environment_is_read_again_after_a_while(monkeypatch):
    now = 1000.0
    monkeypatch.setattr(checker, "monotonic", lambda: now)
    lately.forget()
    before = terms_of().max_attempts
    monkeypatch.setenv("JOBS_MAX_ATTEMPTS", str(before + 4))
    now += checker.KEPT_FOR
    assert terms_of().max_attempts == before + 4
    lately.forget()


def test_a_kind_that_is_registered_anew_counts_at_once(kind: Kind):
    before = terms_of(kind.name).max_attempts
    changed = Kind(kind.name, function=kind.function, max_attempts=before + 4)
    with pytest.MonkeyPatch.context() as meanwhile:
        meanwhile.setitem(registry._kinds, kind.name, changed)
        assert terms_of(kind.name).max_attempts == before + 4
    assert terms_of(kind.name).max_attempts == before


@pytest.mark.parametrize("priority", [True, 1.0])
def test_what_looks_alike_to_a_dictionary_is_looked_at_anew(priority):
    terms_of(priority=1)
    with pytest.raises(InvalidInput, match="priority"):
        terms_of(priority=priority)


@pytest.mark.django_db
def test_what_may_be_another_next_time_is_looked_at_anew():
    made: dict[int, Any] = {}
    all_so_far: Any = made.values()
    for number in range(3):
        made[number] = enqueue("test.noop", after=all_so_far).job_id
        assert reload(made[number]).waits_for == number


@pytest.mark.parametrize("wrong", [{"kind": ["a"]}, {"kind": {}}, {"queue": ["a"]}, {"after": 5}])
def test_what_cannot_be_remembered_is_refused_like_anything_else(wrong):
    with pytest.raises(InvalidInput):
        Checker().check(NewJob(**{"kind": "test.noop", **wrong}))


def test_jobs_of_different_traces_share_nothing(monkeypatch):
    monkeypatch.setattr(checker.tracing, "is_on", lambda: True)
    assert lately.checker() is not lately.checker()
