"""What is wrong with a long list is told of one of its items: pydantic took seconds and gigabytes to tell of all."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from ninja import Schema

from jobs.api import site
from jobs.api.bounds import MOST_FIELDS, MOST_IDS, MOST_NAMES
from jobs.api.validation import refusal
from jobs.api.worker.files.outputs import Manifest
from jobs.api.worker.schemas import MOST_HELD, MOST_PARTS
from jobs.wire.messages import MAX_CLAIM
from tests.api.calls import QUEUE, error_of, post_json
from tests.api.worker.calls import WORKER, Machine, machine

pytestmark = [pytest.mark.once, pytest.mark.django_db]
CLAIM = {"job_id": 1, "claim_id": "00000000-0000-0000-0000-000000000000"}
OUTCOME = {"claim": CLAIM, "verdict": "completed"}
PHASE = {"name": "a", "position": 1, "status": "running"}
# The address, the list of it, what may stand in it, and how often.
LISTS: list[tuple[str, str, Any, int]] = [
    (f"{WORKER}/start", "queues", "a", MOST_NAMES),
    (f"{WORKER}/claim", "queues", "a", MOST_NAMES),
    (f"{WORKER}/claim", "kinds", "a", MOST_NAMES),
    (f"{WORKER}/claim", "completed_there", "a", MOST_NAMES),
    (f"{WORKER}/listen", "queues", "a", MOST_NAMES),
    (f"{WORKER}/heartbeat", "claims", CLAIM, MOST_HELD),
    (f"{WORKER}/heartbeat", "reports", {"claim": CLAIM}, MAX_CLAIM),
    (f"{WORKER}/finish", "outcomes", OUTCOME, MAX_CLAIM),
    (f"{WORKER}/workdirs", "jobs", 1, MOST_IDS),
    (f"{WORKER}/1/progress", "phases", PHASE, MOST_PARTS),
    (f"{WORKER}/1/progress", "qualities", {"name": "a"}, MOST_PARTS),
    (f"{WORKER}/1/spawn", "spawn", {"kind": "a"}, MOST_IDS),
    (f"{QUEUE}/enqueue", "after", 1, MOST_IDS),
]
each_list = pytest.mark.parametrize(
    ("address", "name", "item", "most"), LISTS, ids=[f"{address} {name}" for address, name, *_ in LISTS]
)
MANY = 2 * MAX_CLAIM


@pytest.fixture
def box() -> Machine:
    return machine()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many errors there were, of each request that was refused."""
    numbers: list[int] = []

    def counted(errors: Any) -> Any:
        numbers.append(len(errors))
        return refusal(errors)

    monkeypatch.setattr(site, "refusal", counted)
    return numbers


def refused(box: Machine, program: Client, address: str, body: Any) -> dict[str, str]:
    """What is said of each field."""
    answer = post_json(program, address, body, headers=box.headers if address.startswith(WORKER) else {})
    assert error_of(answer, 422)[0] == "invalid"
    fields: dict[str, str] = answer.json()["error"]["fields"]
    return fields


@each_list
def test_of_many_wrong_items_one_is_told(
    box: Machine, program: Client, told: list[int], address: str, name: str, item: Any, most: int
):
    body = {name: [item, *[{}] * min(MANY, most - 1)]}
    assert any(field.startswith(f"{name}.1") for field in refused(box, program, address, body))
    assert told[0] < 6


@each_list
def test_a_list_that_is_too_long_is_refused_in_words(
    box: Machine, program: Client, told: list[int], address: str, name: str, item: Any, most: int
):
    assert refused(box, program, address, {name: [item] * (most + 1)})[name] == f"has more than {most} items"
    assert told[0] < 6


def test_so_are_the_lists_inside_of_reports_and_outcomes(box: Machine, program: Client, told: list[int]):
    for name in ("phases", "qualities"):
        reports = [{"claim": CLAIM, name: [{}] * MAX_CLAIM}] * MAX_CLAIM
        assert refused(box, program, f"{WORKER}/heartbeat", {"reports": reports[:50]})
    assert refused(box, program, f"{WORKER}/finish", {"outcomes": [{**OUTCOME, "waits_for": ["x"] * MANY}] * 9})
    assert max(told) < 6


def test_a_body_has_few_fields_and_an_object_few_names(box: Machine, program: Client, told: list[int]):
    odd = {f"odd{number}": 1 for number in range(MOST_FIELDS + 1)}
    for address in (f"{QUEUE}/enqueue", f"{QUEUE}/pause", f"{WORKER}/claim"):
        answer = post_json(program, address, odd, headers=box.headers if address.startswith(WORKER) else {})
        assert error_of(answer, 422) == ("invalid", "The body has 101 fields; no call takes more than 100.")
    kinds = {str(number): "x" for number in range(MOST_NAMES + 1)}
    fields = refused(box, program, f"{WORKER}/claim", {"claim_id": CLAIM["claim_id"], "isolated_kinds": kinds})
    assert (fields, told) == ({"isolated_kinds": "has more than 1000 items"}, [1])


def schemas_of(model: type[Schema]) -> Iterator[dict[str, Any]]:
    """Everything that a request is checked with, as pydantic's core has it."""
    left: list[Any] = [model.__pydantic_core_schema__]
    while left:
        known = left.pop()
        if isinstance(known, dict):
            yield known
            left += known.values()
        elif isinstance(known, (list, tuple)):
            left += known


def requests() -> Iterator[tuple[str, type[Schema]]]:
    for _, router in site.api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                yield from ((path, model) for model in operation.models)
    yield "finalize", Manifest


SEVERAL = ("list", "set", "frozenset", "tuple", "generator", "dict")
ANYTHING = {"type": "any"}


def bounded(schema: dict[str, Any]) -> bool:
    """An object has no `fail_fast`, and needs a bound where something may be wrong with what is in it."""
    if schema["type"] == "dict":
        return schema["values_schema"] == ANYTHING or "max_length" in schema
    return "max_length" in schema and schema.get("fail_fast") is True


def test_no_request_has_a_list_without_bounds():
    found = [
        (path, schema) for path, model in requests() for schema in schemas_of(model) if schema.get("type") in SEVERAL
    ]
    assert len(found) > len(LISTS)
    assert [(path, schema) for path, schema in found if not bounded(schema)] == []
