"""The options of a kind are checked where they are written, each with one clear sentence."""

from dataclasses import fields
from typing import Any

import pytest

from jobs.exceptions import InvalidInput
from jobs.handlers.kind_options import CHECKS, checked_options
from jobs.handlers.pipeline import pipeline
from jobs.handlers.registry import Kind, handler, registry
from jobs.lifecycle.checker import check
from jobs.lifecycle.new_job import NewJob
from jobs.states import Accelerator

GOOD: dict[str, list[Any]] = {
    "queue": ["a", "print.slow-1"],
    "max_attempts": [None, 1, 1000],
    "backoff": [None, "", "fixed", "linear:5", "exponential:10:3600", "fixed:0.5"],
    "lease": [None, 1, 604_800, 2.5],
    "max_runtime": [None, 0.1, 21_600],
    "stall_timeout": [None, 0.1, 600],
    "accelerator": list(Accelerator),
    "isolation": ["thread", "process"],
    "exclusive": [True, False],
    "limit_key": ["", "customer-7", str],
    "slots": [1, 4, 1000],
    "webhook_url": [None, "", "https://example.org/hook"],
    "webhook_progress": [None, 0, 1, 100],
    "fatal_on": [(), (ValueError, OSError)],
    "retry_on": [(KeyError,)],
    "on_complete": [None, print],
    "on_stale": [None, print],
    "on_delete": [None, print],
    "files": [None, print],
    "spawns": [(), ("a.b", "c")],
}
BAD: dict[str, tuple[list[Any], str]] = {
    "queue": (["", "two words", None, 5, "q" * 101], "1 to 100 letters"),
    "max_attempts": ([0, -1, 1001, 1.5, True, "3"], "a whole number from 1 to 1000"),
    "backoff": (["random", "fixed:-1", "linear:a", "fixed:1:2:3", 5], "as in 'exponential:10:3600'"),
    "lease": ([0, 0.5, 604_801, float("nan"), True, "long"], "1 to 604800 seconds"),
    "max_runtime": ([0, -1, float("inf"), float("nan"), True, "long"], "seconds above zero"),
    "stall_timeout": ([0, -1, float("inf"), float("nan"), True, "long"], "seconds above zero"),
    "accelerator": (["tpu", None, 1], "one of"),
    "isolation": (["fork", None, 1], "'thread' or 'process'"),
    "exclusive": ([None, 1, "yes"], "True or False"),
    "limit_key": ([None, 5, "k" * 201], "text of at most 200 characters, or a function"),
    "slots": ([0, -1, 1001, 1.5, True, "4", None], "a whole number from 1 to 1000"),
    "webhook_url": (["ftp://example.org", 5, "example.org", "https://a:b@example.org"], "begins with http"),
    "webhook_progress": ([-1, 101, 2.5, True, "10"], "a whole number of percent from 0"),
    "fatal_on": (["ValueError", [ValueError], (ValueError, 1), int, None], "an exception class or a tuple"),
    "retry_on": ([ValueError(), (int,)], "an exception class or a tuple"),
    "on_complete": (["publish", 1], "a function"),
    "on_stale": (["publish"], "a function"),
    "on_delete": (["publish"], "a function"),
    "files": ([("sources/1", "videos/1")], "a function"),
    "spawns": ([None, ["a.b"], ("a b",), "a b", (5,), print], "the name of a kind, or a tuple"),
}


def cases(values: dict[str, list[Any]]) -> list[Any]:
    return [pytest.param(name, value, id=f"{name}={value!r}"[:60]) for name, many in values.items() for value in many]


def test_every_option_of_a_kind_has_a_check():
    assert CHECKS.keys() == {field.name for field in fields(Kind)} - {"name", "function", "phases"}
    assert GOOD.keys() == BAD.keys() == CHECKS.keys()


@pytest.mark.parametrize(("name", "value"), cases(GOOD))
def test_what_works_is_taken_as_it_is(name, value):
    assert checked_options("a.b", {name: value}) == {name: value}


@pytest.mark.parametrize(("name", "value"), cases({name: values for name, (values, _) in BAD.items()}))
def test_what_cannot_work_is_refused_with_the_option_the_kind_the_value_and_what_it_must_be(name, value):
    with pytest.raises(InvalidInput) as caught:
        handler("a.b", **{name: value})
    assert str(caught.value).startswith(f"The {name} of 'a.b' is {value!r}; it must be ")
    assert BAD[name][1] in str(caught.value)


def test_what_stands_alone_needs_no_brackets():
    assert checked_options("a.b", {"fatal_on": ValueError}) == {"fatal_on": (ValueError,)}
    assert checked_options("a.b", {"spawns": "a.c"}) == {"spawns": ("a.c",)}


def test_an_unknown_option_is_refused_with_those_there_are():
    with pytest.raises(InvalidInput, match=r"'a.b' has no option 'qeue'; choose from queue, max_attempts, "):
        checked_options("a.b", {"qeue": "slow"})


def test_a_pipeline_takes_the_same_options():
    with pytest.raises(InvalidInput, match=r"The isolation of 'a.b' is 'fork'"):
        pipeline("a.b", isolation="fork")
    assert registry.find("a.b") is None


@pytest.mark.parametrize("name", ["queue", "max_attempts", "backoff", "max_runtime", "accelerator", "webhook_url"])
def test_what_a_kind_may_say_a_job_may_too(name):
    """The checks of enqueue live where a handler cannot import them; they must not drift apart."""
    for value in GOOD[name]:
        check(NewJob("test.noop", **{name: value}))
    for value in BAD[name][0]:
        if value is not None:
            with pytest.raises(InvalidInput):
                check(NewJob("test.noop", **{name: value}))
