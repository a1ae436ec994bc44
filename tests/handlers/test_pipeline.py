"""A pipeline: phases in order, each once, results read by later ones, progress over the whole."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from jobs.exceptions import Cancelled, ClaimLost, InvalidInput
from jobs.handlers.context import Context
from jobs.handlers.pipeline import Pipeline, pipeline
from jobs.handlers.registry import registry
from tests.handlers.reporter import Flags, Remembering, a_claimed_job


@pytest.fixture
def build() -> Iterator[Pipeline]:
    """A pipeline of three phases that say 50, 25 and 80 % and return their name."""
    mine = pipeline("test.build", queue="slow")
    for name, percent in (("collect", 50), ("render", 25), ("upload", 80)):
        mine.phase(name)(saying(name, percent))
    yield mine
    registry.remove("test.build")


def saying(name: str, percent: int) -> Any:
    def run(context: Context, **payload: Any) -> str:
        context.progress(percent)
        return name

    return run


@pytest.fixture
def reporter() -> Remembering:
    return Remembering()


def run(reporter: Remembering, flags: Flags | None = None, **options: Any) -> Any:
    kind = registry.get("test.build")
    assert kind.function
    job = a_claimed_job(**options)
    return Context(job, reporter, flags or Flags()).call(kind.function, **job.payload)


@pytest.mark.usefixtures("build")
def test_three_phases_at_50_25_and_80_percent_give_17_42_and_93_overall(reporter: Remembering):
    assert run(reporter) == "upload"
    assert reporter.progress == [0, 17, 33, 33, 42, 67, 67, 93, 100]


@pytest.mark.usefixtures("build")
def test_all_phases_are_seen_before_the_first_one_starts(reporter: Remembering):
    run(reporter)
    assert reporter.phases[:3] == [(name, "pending", 0) for name in ("collect", "render", "upload")]
    assert [phase for phase in reporter.phases if phase[1] == "completed"] == [
        (name, "completed", 100) for name in ("collect", "render", "upload")
    ]


@pytest.mark.usefixtures("build")
def test_a_phase_with_a_result_is_not_run_again(reporter: Remembering):
    assert run(reporter, phase_results={"collect": 1, "render": 2}) == "upload"
    assert {name for name, _, _ in reporter.phases} == {"upload"}


def test_a_phase_of_every_attempt_runs_again_although_it_has_a_result(build: Pipeline, reporter: Remembering):
    build.phase("sign", every_attempt=True)(lambda context, **payload: "signed anew")
    results = dict.fromkeys(("collect", "render", "upload", "sign"), "old")
    assert run(reporter, phase_results=results) == "signed anew"
    assert [name for name, *_ in reporter.phases] == ["sign"] * 3  # pending, running, completed


@pytest.mark.usefixtures("build")
def test_when_all_phases_have_results_the_last_one_is_the_jobs(reporter: Remembering):
    assert run(reporter, phase_results={"collect": 1, "render": 2, "upload": 3}) == 3


def test_later_phases_read_what_earlier_ones_returned_and_all_get_the_payload(build: Pipeline, reporter: Remembering):
    @build.phase("sum")
    def add_up(context: Context, extra: str) -> str:
        return context.phase_result("collect") + context.phase_result("render") + extra

    assert run(reporter, payload={"extra": "!"}) == "collectrender!"


def test_a_phase_that_raises_is_reported_as_failed_and_ends_the_attempt(build: Pipeline, reporter: Remembering):
    @build.phase("break")
    def broken(context: Context) -> None:
        raise ValueError("no disk")

    with pytest.raises(ValueError, match="no disk"):
        run(reporter)
    assert reporter.phases[-1] == ("break", "failed", 0)


@pytest.mark.parametrize("error", [Cancelled(job_id=7), ClaimLost(job_id=7)])
def test_a_phase_that_was_told_to_stop_is_not_reported_as_failed(build: Pipeline, reporter: Remembering, error):
    @build.phase("stopped")
    def stopped(context: Context) -> None:
        raise error

    with pytest.raises(type(error)):
        run(reporter)
    assert reporter.phases[-1] == ("stopped", "running", 0)


@pytest.mark.usefixtures("build")
def test_before_each_phase_the_claim_is_asked_for(reporter: Remembering):
    run(reporter)
    assert reporter.guards == 3
    reporter.refusal = ClaimLost(job_id=7)
    with pytest.raises(ClaimLost):
        run(reporter)
    assert reporter.phases[-1] == ("upload", "pending", 0)


def test_a_weight_that_is_not_positive_and_a_phase_twice_are_refused(build: Pipeline):
    with pytest.raises(InvalidInput, match="must be above zero"):
        build.phase("light", weight=0)
    with pytest.raises(InvalidInput, match="already has a phase 'collect'"):
        build.phase("collect")


@pytest.mark.usefixtures("build")
def test_its_options_are_those_of_a_kind():
    assert registry.get("test.build").queue == "slow"


def test_plain_and_async_phases_mix(build: Pipeline, reporter: Remembering):
    @build.phase("later")
    async def later(context: Context) -> str:
        await asyncio.sleep(0)
        context.progress(50)
        return context.phase_result("upload") + ", later"

    @build.phase("last")
    def last(context: Context) -> str:
        return context.phase_result("later") + ", last"

    assert run(reporter) == "upload, later, last"
    assert ("later", "running", 50) in reporter.phases


def test_a_generator_is_no_phase(build: Pipeline):
    def pieces(context: Context) -> Iterator[int]:
        yield 1

    with pytest.raises(InvalidInput, match="must not yield"):
        build.phase("pieces")(pieces)


def test_no_key_of_a_payload_clashes_with_ours(reporter: Remembering):
    payload = dict.fromkeys(("self", "context", "ctx", "phase", "function", "name"), 1)
    mine = pipeline("test.build")
    mine.phase("all")(lambda _, /, **payload: payload)
    try:
        assert run(reporter, payload=payload) == payload
    finally:
        registry.remove("test.build")


def test_later_phases_read_the_same_in_the_first_run_and_in_a_resumed_one(build: Pipeline, reporter: Remembering):
    seen: list[Any] = []

    @build.phase("odd")
    def odd(context: Context) -> Any:
        return {"pair": (1, 2), 3: {"set": {5}}, "nan": float("nan")}

    @build.phase("read")
    def read(context: Context) -> None:
        seen.append(context.phase_result("odd"))
        context.phase_result("odd")["pair"].append(3)  # a copy: nobody else sees it
        context.phase_results()["odd"]["pair"].append(4)
        seen.append(context.phase_result("odd"))

    run(reporter)
    stored = {"pair": [1, 2], "3": {"set": [5]}, "nan": None}
    run(reporter, phase_results={"collect": 1, "render": 1, "upload": 1, "odd": stored})
    assert seen == [stored] * 4


def test_what_a_phase_does_to_its_payload_no_other_phase_sees(build: Pipeline, reporter: Remembering):
    @build.phase("greedy")
    def greedy(context: Context, items: list[int]) -> None:
        items.clear()

    @build.phase("late")
    def late(context: Context, items: list[int]) -> int:
        return len(items)

    assert run(reporter, payload={"items": [1, 2]}) == 2


@pytest.mark.usefixtures("build")
def test_a_result_that_cannot_be_stored_fails_the_phase_and_the_attempt(reporter: Remembering):
    reporter.too_large = InvalidInput("The result of phase 'collect' is too large.")
    with pytest.raises(InvalidInput, match="too large"):
        run(reporter)
    assert reporter.phases[-1] == ("collect", "failed", 0)


def test_when_not_even_the_failure_can_be_reported_the_phases_own_error_counts(build: Pipeline, reporter, caplog):
    @build.phase("break")
    def broken(context: Context) -> None:
        reporter.report_error = OSError("the supervisor is gone")
        raise ValueError("no disk")

    with pytest.raises(ValueError, match="no disk"):
        run(reporter)
    assert "could not be marked" in caplog.text


def test_a_claim_found_lost_while_a_failure_is_reported_is_lost(build: Pipeline, reporter: Remembering):
    @build.phase("break")
    def broken(context: Context) -> None:
        reporter.report_error = ClaimLost(job_id=7)
        raise ValueError("no disk")

    with pytest.raises(ClaimLost):
        run(reporter)


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan"), True, "2"])
def test_a_weight_is_a_number_above_zero(build: Pipeline, weight):
    with pytest.raises(InvalidInput, match="must be above zero"):
        build.phase("odd", weight=weight)


def test_a_pipeline_without_phases_has_no_result(reporter: Remembering):
    pipeline("test.build")
    try:
        assert run(reporter) is None
    finally:
        registry.remove("test.build")
