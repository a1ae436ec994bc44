"""Bad input: each thing that cannot become a job is refused with one sentence, and nothing is stored."""

import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from jobs.exceptions import InvalidInput
from jobs.lifecycle.enqueue import enqueue
from jobs.models import Job


def nested(levels: int) -> dict[str, Any]:
    return {"deeper": nested(levels - 1)} if levels else {}


BAD_PAYLOADS = {
    "list": ([1, 2], "must be a JSON object .* not list"),
    "text": ("{}", "must be a JSON object .* not str"),
    "not serialisable": ({"when": datetime(2020, 1, 1)}, r"payload\['when'\] is of the type datetime"),
    "object": ({"a": [object()]}, r"payload\['a'\]\[0\] is of the type object"),
    "bytes": ({"a": b"x"}, "type bytes"),
    "NUL": ({"a": {"b": "x\x00y"}}, r"payload\['a'\]\['b'\] contains a NUL character"),
    "NUL in a key": ({"\x00": 1}, "A key of payload contains a NUL character"),
    "lone surrogate": ({"a": "\ud800"}, "a lone surrogate"),
    "NaN": ({"a": math.nan}, r"payload\['a'\] is nan, which JSON does not have"),
    "infinity": ({"a": (1.0, -math.inf)}, r"payload\['a'\]\[1\] is -inf"),
    "huge integer": ({"a": 2**63}, "integer of more than 64 bits"),
    "number as key": ({1: "a"}, "keys must be text"),
    "deep": (nested(70), "nested more than 64 levels deep"),
    "10 MB": ({"a": "x" * 10_000_000}, "JOBS_MAX_PAYLOAD allows 1048576"),
}


@pytest.mark.parametrize(("payload", "words"), BAD_PAYLOADS.values(), ids=BAD_PAYLOADS)
def test_a_payload_that_cannot_be_stored_is_refused(payload, words):
    with pytest.raises(InvalidInput, match=words):
        enqueue("test.noop", payload)
    assert not Job.objects.exists()


def test_the_limit_of_a_payload_counts_bytes(settings):
    settings.JOBS_MAX_PAYLOAD = len('{"a": "ü"}'.encode())
    enqueue("test.noop", {"a": "ü"})
    with pytest.raises(InvalidInput, match="takes 12 bytes"):
        enqueue("test.noop", {"a": "üx"})


@pytest.mark.parametrize("largest", [2**63 - 1, -(2**63) + 1, 0.1, 5e-324])
def test_the_largest_numbers_come_back_as_they_went_in(largest):
    job_id = enqueue("test.noop", {"n": largest}).job_id
    assert Job.objects.get(pk=job_id).payload == {"n": largest}


FAR_EAST, FAR_WEST = timezone(timedelta(hours=12)), timezone(timedelta(hours=-12))
BAD_OPTIONS: list[tuple[str, Any, str]] = [
    ("queue", "", "queue name ''"),
    ("queue", "two words", "queue name 'two words'"),
    ("queue", "a\n", "queue name"),
    ("queue", "q" * 101, "1 to 100 letters"),
    ("queue", "../up", "queue name"),
    ("queue", 7, "queue name 7"),
    ("priority", 101, "from -100 to 100"),
    ("priority", -101, "from -100 to 100"),
    ("priority", 1.5, "whole number"),
    ("priority", True, "whole number"),
    ("priority", "1", "whole number"),
    ("run_after", datetime(2030, 1, 1), "has no time zone"),
    ("run_after", "2030-01-01", "must be a datetime, not str"),
    ("run_after", datetime.max.replace(tzinfo=FAR_WEST), "years 1 to 9999"),
    ("run_after", datetime.min.replace(tzinfo=FAR_EAST), "years 1 to 9999"),
    ("max_attempts", 0, "from 1 to 1000"),
    ("max_attempts", -1, "from 1 to 1000"),
    ("max_attempts", 1001, "from 1 to 1000"),
    ("max_attempts", True, "whole number"),
    ("backoff", "sometimes", "'sometimes' is not understood"),
    ("backoff", "fixed:-1", "not understood"),
    ("backoff", "fixed:nan", "not understood"),
    ("backoff", "fixed:10:5", "not understood"),
    ("backoff", "fixed:1:2:3", "not understood"),
    ("backoff", 10, "must be text"),
    ("max_runtime", 0, "a number of seconds from 0.001"),
    ("max_runtime", -5, "a number of seconds from 0.001"),
    ("max_runtime", math.inf, "a number of seconds from 0.001"),
    ("max_runtime", math.nan, "a number of seconds from 0.001"),
    ("max_runtime", "60", "a number of seconds from 0.001"),
    ("max_runtime", 1e-9, "a number of seconds from 0.001"),
    ("max_runtime", 1e12, "ten years"),
    ("backoff", f"fixed:{'0' * 60}1", "at most 60 are allowed"),
    ("webhook_url", "ftp://example.com/", "must begin with http"),
    ("webhook_url", "http:///path", "name a host"),
    ("webhook_url", "http://[::1", "must begin with http"),
    ("webhook_url", "http://e.com/" + "x" * 500, "at most 500"),
    ("accelerator", "tpu", "must be one of '', 'prefer', 'require'"),
    ("unique", "sometimes", "must be one of 'active', 'ever'"),
    ("dedupe_key", "", "dedupe key is empty"),
    ("dedupe_key", "k" * 201, "at most 200"),
    ("dedupe_key", "a\x00b", "NUL"),
    ("dedupe_key", 12, "must be text, not int"),
    ("subject", "a\ud800", "lone surrogate"),
    ("subject", "s" * 501, "at most 500"),
    ("subject", None, "must be text, not NoneType"),
    ("scope", "s" * 201, "at most 200"),
    ("scope", "\x00", "NUL"),
]


@pytest.mark.parametrize(("option", "value", "words"), BAD_OPTIONS)
def test_an_option_that_makes_no_sense_is_refused(option, value, words):
    with pytest.raises(InvalidInput, match=words):
        enqueue("test.noop", **{option: value})
    assert not Job.objects.exists()


@pytest.mark.parametrize("kind", ["", "a b", "k" * 101, "-x", None, 5, "a\x00"])
def test_a_kind_that_is_no_name_is_refused_even_where_unknown_ones_are_allowed(kind):
    with pytest.raises(InvalidInput, match="is not a name"):
        enqueue(kind, allow_unknown=True)
