"""The wire: what one side says is what the other understands, and what is no message is refused with its place."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.exceptions import ClaimExpired, ClaimLost, InvalidInput
from jobs.handlers.base import (
    UNSET,
    Answer,
    Child,
    ClaimedJob,
    ClaimRef,
    Orders,
    Outcome,
    PhaseReport,
    QualityReport,
    Report,
    Spawn,
    Wish,
)
from jobs.states import PhaseStatus, QualityStatus, Status, Verdict
from jobs.wire import codecs
from jobs.wire.body import from_bytes, to_bytes
from jobs.wire.messages import Beat, Beaten, Look, Looked, Start, Started
from jobs.wire.shapes import Codec, WrongShape

text = st.text(st.characters(), max_size=8)  # lone surrogates and NUL among them
count = st.integers(0, 2**62)
number = st.floats(0, 1e9)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(-1e300, 1e300) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip
clean = json_values.filter(
    lambda value: "\0" not in repr(value) and "\\x00" not in repr(value) and "\\ud" not in repr(value)
)
objects = st.dictionaries(text, json_values, max_size=2)
clean_objects = st.dictionaries(st.sampled_from(["a", "b"]), clean, max_size=2)
durations = st.timedeltas(timedelta(0), timedelta(days=3650))
claims = st.builds(ClaimRef, count, st.uuids())


def tuples(items: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(items, max_size=2).map(tuple)


def maybe(value: st.SearchStrategy) -> st.SearchStrategy:
    return st.none() | value


names = tuples(text)
phases = st.builds(PhaseReport, text, count, st.sampled_from(PhaseStatus), count, number, clean, text)
quality_states = maybe(st.sampled_from(QualityStatus))
qualities = st.builds(QualityReport, text, quality_states, maybe(count), maybe(count), maybe(count),
                      maybe(text), maybe(clean_objects))  # fmt: skip
jobs = st.builds(ClaimedJob, claims, text, text, objects, text, count, count, count, durations, maybe(durations),
                 json_values, objects, names, st.integers(-100, 100), text, maybe(text))  # fmt: skip
orders = st.builds(Orders, tuples(claims), tuples(claims), tuples(claims), st.booleans(), st.booleans())
moments = st.datetimes(timezones=st.just(UTC))
options = st.fixed_dictionaries({}, optional={"run_after": moments, "priority": count, "after": st.lists(count)})
spawns = st.builds(Spawn, text, maybe(objects), maybe(text), options)

looks = st.builds(Look, st.uuids(), names, count, st.dictionaries(text, count), maybe(count), names, names, number)

EVERY: list[tuple[Codec[Any], st.SearchStrategy]] = [
    (codecs.CLAIM, claims),
    (codecs.REPORT, st.builds(Report, claims, maybe(count), maybe(text), tuples(phases), tuples(qualities),
                              st.just(UNSET) | clean)),
    (codecs.CLAIMED_JOB, jobs),
    (codecs.OUTCOME, st.builds(Outcome, claims, st.sampled_from(Verdict), clean, text, text, st.booleans(),
                               maybe(number), st.booleans(), text, maybe(tuples(count)))),
    (codecs.ORDERS, orders),
    (codecs.WISH, st.builds(Wish, tuples(spawns))),
    (codecs.CHILDREN, tuples(st.builds(Child, count, text, text, st.sampled_from(Status), count, json_values, text))),
    (codecs.LOOK, looks),
    (codecs.LOOKED, st.builds(Looked, tuples(jobs), text, maybe(number))),
    (codecs.START, st.builds(Start, st.uuids(), text, count, text, count, count, text, names, count, clean_objects)),
    (codecs.STARTED, st.builds(Started, st.uuids(), text, text, text, number, number)),
    (codecs.BEAT, st.builds(Beat, tuples(claims), text, maybe(clean_objects))),
    (codecs.BEATEN, st.builds(Beaten, orders, text, text)),
]  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_what_is_said_is_understood(data):
    codec, values = data.draw(st.sampled_from(EVERY))
    value = data.draw(values)
    assert codec.decode(from_bytes(to_bytes(codec.encode(value)))) == value


def test_an_answer_says_how_it_was_refused():
    claim = ClaimRef(7, codecs.IDENTIFIER.decode("6f1c1f5e-7a49-4c39-8f2f-3f6c5b0c7d11"))
    said = [Answer(claim, Status.FAILED, repeated=True, reason="boom"), Answer(claim, refused=ClaimLost(job_id=7)),
            Answer(claim, refused=ClaimExpired(job_id=7))]  # fmt: skip
    heard = codecs.ANSWERS.decode(from_bytes(to_bytes(codecs.ANSWERS.encode(said))))
    assert heard[0] == said[0]
    assert [type(each.refused) for each in heard[1:]] == [ClaimLost, ClaimExpired]
    assert str(heard[1].refused) == str(said[1].refused)


def test_what_a_handler_made_up_goes_as_it_would_be_stored():
    outcome = Outcome.completed(ClaimRef(1, codecs.IDENTIFIER.decode("6f1c1f5e-7a49-4c39-8f2f-3f6c5b0c7d11")),
                                {"when": datetime(2026, 5, 1), "nan": float("nan"), "ids": {3}})  # fmt: skip
    heard = codecs.OUTCOME.decode(from_bytes(to_bytes(codecs.OUTCOME.encode(outcome))))
    assert heard.result == {"when": "2026-05-01 00:00:00", "nan": None, "ids": [3]}


def test_jobs_that_were_spawned_before_go_by_their_ids():
    child = Child(5, "k", "kind", Status.PENDING)
    wish = Wish((Spawn("kind", options={"after": [child, 9]}),))
    assert codecs.WISH.decode(codecs.WISH.encode(wish)).spawn[0].options == {"after": [5, 9]}


def test_what_is_not_mentioned_stays_unset_and_null_is_none():
    claim = {"job_id": 1, "claim_id": "6f1c1f5e-7a49-4c39-8f2f-3f6c5b0c7d11"}
    assert codecs.REPORT.encode(Report(codecs.CLAIM.decode(claim))) == {"claim": claim}
    assert codecs.REPORT.decode({"claim": claim}).checkpoint is UNSET
    assert codecs.REPORT.decode({"claim": claim, "checkpoint": None}).checkpoint is None


@pytest.mark.parametrize(
    ("codec", "body", "words"),
    [
        (codecs.CLAIM, {"job_id": "1"}, "an object with claim_id"),
        (codecs.CLAIM, {"job_id": True, "claim_id": ""}, "job_id must be a whole number, not True"),
        (codecs.CLAIM, {"job_id": 2**63, "claim_id": ""}, "job_id must be a whole number"),
        (codecs.CLAIM, {"job_id": 1, "claim_id": "x"}, "claim_id must be a UUID, not 'x'"),
        (codecs.CLAIMS, [{"job_id": 1}], "[0] must be an object with claim_id"),
        (codecs.CLAIMS, {}, "The message must be a list"),
        (codecs.ORDERS, {"drain": 1}, "drain must be true or false, not 1"),
        (codecs.ORDERS, {"lost": [3]}, "lost[0] must be an object, not 3"),
        (codecs.LOOK, [], "The message must be an object"),
        (codecs.SPAWN, {"kind": "k", "options": {"run_after": "soon"}}, "options.run_after must be a time"),
        (codecs.START, {"process": None, "hostname": "", "pid": 1}, "process must be a UUID"),
        (codecs.LOOKED, {"next_due_in": float("inf")}, "next_due_in must be a number, not inf"),
        (codecs.ANSWER, {"claim": {"job_id": 1, "claim_id": "6f1c1f5e-7a49-4c39-8f2f-3f6c5b0c7d11"}, "refused": "why"},
         "refused must be one of claim_lost, claim_expired"),
        (codecs.OUTCOME, {"claim": {"job_id": 1, "claim_id": "6f1c1f5e-7a49-4c39-8f2f-3f6c5b0c7d11"}, "verdict": "odd"},
         "verdict must be one of completed, failed"),
    ],
)  # fmt: skip
def test_what_is_no_message_is_refused_with_its_place(codec, body, words):
    with pytest.raises(WrongShape) as refused:
        codec.decode(body)
    assert words in str(refused.value)


def test_what_a_newer_side_says_beyond_is_passed_over():
    assert codecs.ORDERS.decode({"sing": True}) == Orders()


@pytest.mark.parametrize("value", [{1, 2}, float("inf"), {"a": object()}])
def test_what_json_cannot_say_is_refused_before_it_is_sent(value):
    with pytest.raises(InvalidInput):
        to_bytes(value)


def test_what_is_no_json_is_refused():
    with pytest.raises(WrongShape):
        from_bytes(b"<html>")
