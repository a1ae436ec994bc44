"""`@periodic` above a handler: what it declares, and what it refuses where it is written."""

from collections.abc import Iterator
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from jobs import handler, periodic, pipeline
from jobs.exceptions import InvalidInput
from jobs.handlers.periodic import Declaration, Declarations, declarations
from jobs.handlers.registry import registry


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    kinds, declared = {kind.name for kind in registry}, {each.name for each in declarations}
    yield
    for name in {kind.name for kind in registry} - kinds:
        registry.remove(name)
    for name in {each.name for each in declarations} - declared:
        declarations.remove(name)


def declared(name: str) -> Declaration:
    [found] = [each for each in declarations if each.name == name]
    return found


def test_the_name_is_the_kind_s_unless_it_is_given():
    @periodic("0 3 * * *", payload={"month": 5}, queue="slow", timezone="Europe/Berlin", catch_up="none", priority=-5)
    @periodic(every=90, name="reports.often", overlap=False, enabled=False)
    @handler("test.reports")
    def build(context: object, month: int = 1) -> int:
        return month

    assert declared("test.reports") == Declaration(
        "test.reports", "test.reports", "0 3 * * *", "Europe/Berlin", {"month": 5}, "slow", -5, "none"
    )
    often = declared("reports.often")
    assert (often.kind, often.schedule, often.overlap, often.enabled) == ("test.reports", "every 1m30s", False, False)
    assert build(None, month=5) == 5


def test_a_pipeline_is_declared_by_a_call():
    long = pipeline("test.long")
    assert periodic("@weekly", timezone=ZoneInfo("UTC"))(long) is long
    assert declared("test.long").timezone == "UTC"


@pytest.mark.parametrize(("every", "text"), [(1, "every 1s"), (2.5, "every 2.5s"), (timedelta(days=7), "every 7d")])
def test_every_takes_seconds_and_timedeltas(every, text):
    periodic(every=every)(handler("test.every")(lambda context: None))
    assert declared("test.every").schedule == text


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        ([], {}, "A periodic job has a schedule or every=…, one of the two"),
        (["@daily"], {"every": 5}, "A periodic job has a schedule or every=…, one of the two"),
        (["0 0 30 2 *"], {}, "no month that it names has a day 30"),
        (["@daily"], {"timezone": "Europe/Berlinn"}, "Did you mean 'Europe/Berlin'?"),
        ([], {"every": 0}, "it must be from 1 second"),
        ([], {"every": -5}, "every is"),
        ([], {"every": float("nan")}, "every is"),
        ([], {"every": True}, "every is True; it must be a number of seconds or a timedelta"),
        ([], {"every": "5"}, "every is '5'; it must be a number of seconds or a timedelta"),
        (["@daily"], {"payload": {"at": timedelta(1)}}, "it must be a JSON object"),
        (["@daily"], {"payload": {"at": float("inf")}}, "it must be a JSON object"),
        (["@daily"], {"queue": "no spaces"}, "The queue of the periodic job 'test.bad' is 'no spaces'; it must be"),
        (["@daily"], {"name": "no spaces"}, "The name of the periodic job 'no spaces'"),
        (["@daily"], {"catch_up": "some"}, "it must be one of 'none', 'one', 'all'"),
        (["@daily"], {"priority": 101}, "it must be a whole number from -100 to 100"),
        (["@daily"], {"overlap": "no"}, "it must be True or False"),
        (["@daily"], {"enabled": 1}, "it must be True or False"),
        (["@daily"], {"catch_up": "all", "overlap": False}, "choose catch_up='one', or overlap=True"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_where_it_is_written(arguments, options, said):
    function = handler("test.bad")(lambda context: None)
    with pytest.raises(InvalidInput) as caught:
        periodic(*arguments, **options)(function)
    assert said in str(caught.value)
    assert not [each for each in declarations if each.kind == "test.bad"]


def test_it_stands_above_the_handler_and_has_a_schedule():
    with pytest.raises(InvalidInput, match="write @periodic above @handler"):
        periodic("@daily")(lambda context: None)
    with pytest.raises(InvalidInput, match="not a bare @periodic"):
        periodic(lambda context: None)  # type: ignore[arg-type]  # as somebody may write it
    function = handler("test.one")(handler("test.two")(lambda context: None))
    with pytest.raises(InvalidInput, match=r"handles several kinds \(test.one, test.two\)"):
        periodic("@daily")(function)


def test_two_of_one_kind_need_two_names():
    own = Declarations()
    first = Declaration("a", "a", "@daily")
    own.add(first)
    own.add(first)  # a module may be imported twice
    with pytest.raises(InvalidInput, match="Two periodic jobs are called 'a'; give one of them another name"):
        own.add(Declaration("a", "a", "@hourly"))
