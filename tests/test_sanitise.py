"""Sanitising: text and JSON that both databases take, cut to a limit, without secrets of the environment."""

import itertools
import json
import math
from enum import IntEnum

import pytest

from jobs.sanitise import MAX_DEPTH, clean_error, clean_json, clean_text, cut_middle, redact


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class Size(IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("plain ✓", "plain ✓"),
        ("a\x00b", "a\ufffdb"),
        ("a\ud800b", "a?b"),
        (12, "12"),
        (Unreadable(), "<text of Unreadable is not readable: RuntimeError>"),
    ],
)
def test_text_is_cleaned(raw, clean):
    assert clean_text(raw, 100) == clean


@pytest.mark.parametrize("limit", [0, 1, 5, 30, 40, 100, 999])
def test_no_text_is_longer_than_its_limit(limit):
    assert len(cut_middle("x" * 1000, limit)) == limit


def test_a_cut_keeps_both_ends_and_says_what_is_missing():
    text = cut_middle("begin" + "x" * 1000 + "end", 200)
    assert text.startswith("begin")
    assert text.endswith("end")
    assert "[808 characters cut]" in text


def test_text_at_the_limit_is_not_cut():
    assert cut_middle("x" * 10, 10) == "x" * 10


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ({"a": [1, 2.5, None, True, "x"]}, {"a": [1, 2.5, None, True, "x"]}),
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (math.inf, None),
        (2**63, "[cut: integer of more than 64 bits]"),
        (-(2**63) + 1, -(2**63) + 1),
        (Size.LARGE, 3),
        ({Size.LARGE: {"b\x00": "\ud800"}}, {"3": {"b\ufffd": "?"}}),
        (b"x", "b'x'"),
    ],
)
def test_json_is_cleaned(raw, clean):
    assert clean_json(raw, 1000) == clean


def test_what_is_nested_too_deeply_is_cut_there():
    deep: list[object] = []
    deep.append(deep)
    cleaned = clean_json(deep, 10_000)
    assert json.dumps(cleaned).count("[") == MAX_DEPTH + 2  # the note has a bracket of its own


def test_json_that_is_too_large_becomes_a_note_that_says_so():
    note = clean_json({"a": "ü" * 1000}, 500)
    assert (note["cut"], note["bytes"], note["limit"]) == (True, 2009, 500)
    assert note["preview"].startswith('{"a": "üü')
    assert len(note["preview"]) <= 1000


@pytest.mark.parametrize("name", ["SECRET_KEY", "API_TOKEN", "db_password", "SERVICE_CREDENTIALS", "SENTRY_DSN"])
def test_values_of_secret_variables_are_replaced_by_their_names(monkeypatch, name):
    monkeypatch.setenv(name, "s3cr3t-value")
    assert redact("it is s3cr3t-value, twice: s3cr3t-value") == f"it is [{name}], twice: [{name}]"


def test_short_or_harmless_values_stay(monkeypatch):
    monkeypatch.setenv("SHORT_TOKEN", "abc")
    monkeypatch.setenv("HOME_OF_SOMEONE", "/home/someone")
    assert redact("abc in /home/someone") == "abc in /home/someone"


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("postgres://user:hunter2@db:5432/x", "postgres://user:[password]@db:5432/x"),
        ("redis://:hunter2@cache", "redis://:[password]@cache"),
        ("http://example.com:80/a@b", "http://example.com:80/a@b"),
    ],
)
def test_passwords_inside_urls_are_replaced(raw, clean):
    assert redact(raw) == clean


def test_a_secret_does_not_survive_being_cut(monkeypatch):
    monkeypatch.setenv("API_TOKEN", "0123456789" * 5)
    for before, after in itertools.product(range(0, 1200, 11), (0, 50, 500, 5000)):
        assert "0123" not in clean_error("x" * before + "0123456789" * 5 + "y" * after, 100)
