"""Log lines: one for each event whatever it says, with what it is about, and no secret that nobody wrote there."""

import copy
import json
import logging
import pickle
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.utils.module_loading import import_string

import jobs.worker
from jobs.logs import Event, JsonFormatter, KeyValueFormatter, StderrHandler, formatter, signature

FORMATTERS = [KeyValueFormatter(), JsonFormatter()]
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
HOSTILE = [
    "two\nlines",
    "back\rto the start",
    "\x1b[2J\x1b[31mred\x1b]0;title\x07",
    "\x9b31m in one byte, \x7f and \x85",
    "separated\u2028by\u2029unicode",
    "turned \u202eround\u2066",
    "NUL \x00 and a lone \ud83d surrogate",
    'a "quoted" level=CRITICAL job=1 \\ backslash',
    "",
]


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Cursed(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even here")


def record(message: object = "hello", *args: object, **extra: object) -> logging.LogRecord:
    made = logging.LogRecord("jobs.worker", logging.INFO, __file__, 1, message, args, None)
    made.created = 1777629600.0125
    vars(made).update(extra)
    return made


def with_exception(raising: Callable[[], object]) -> logging.LogRecord:
    made = record()
    try:
        raising()
    except Exception:
        made.exc_info = sys.exc_info()
    return made


def fail(words: str) -> None:
    raise ValueError(words)


def curse() -> None:
    raise Cursed


def test_key_value_says_time_level_logger_message_and_what_it_is_about():
    line = KeyValueFormatter().format(record("job %s completed", 7, job=7, attempt=2, kind="a.b", worker="box 1"))
    assert line == (
        'time=2026-05-01T10:00:00.012Z level=INFO logger=jobs.worker message="job 7 completed" '
        'job=7 attempt=2 kind=a.b worker="box 1"'
    )


def test_json_says_the_same():
    line = JsonFormatter().format(record("job %s completed", 7, job=7, attempt=2, kind="a.b", worker="box 1"))
    assert json.loads(line) == {
        "time": "2026-05-01T10:00:00.012Z", "level": "INFO", "logger": "jobs.worker", "message": "job 7 completed",
        "job": 7, "attempt": 2, "kind": "a.b", "worker": "box 1",
    }  # fmt: skip


def an_event() -> Event:
    return Event(
        "finished", job=7, kind="a.b", status="failed", percent=12.5, step=None, job_ids=[7, 8], reason="not 100 %"
    )


def test_an_event_is_a_text_to_whoever_reads_it():
    text = "finished job=7 kind=a.b status=failed percent=12.5 step=None job_ids=[7, 8] reason='not 100 %'"
    assert record(an_event()).getMessage() == text
    assert KeyValueFormatter().format(record(an_event())).endswith(f' message="{text}"')


def test_in_json_each_field_of_an_event_is_a_key():
    told = json.loads(JsonFormatter().format(record(an_event())))
    assert {name: told[name] for name in told if name not in ("time", "level", "logger")} == {
        "message": "finished", "job": 7, "kind": "a.b", "status": "failed", "percent": 12.5, "job_ids": [7, 8],
        "reason": "not 100 %",
    }  # fmt: skip


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), [1, float("nan")], {"a": 1}, True, 10**400])
def test_json_stays_json_whatever_a_field_is(odd):
    def refuse(constant: str) -> None:
        pytest.fail(f"{constant} is no JSON")

    told = json.loads(JsonFormatter().format(record(Event("odd", field=odd))), parse_constant=refuse)
    assert told["field"] in (str(odd), odd)


def test_an_event_that_travels_keeps_its_fields():
    for arrived in (pickle.loads(pickle.dumps(an_event())), copy.deepcopy(an_event())):
        assert (arrived, arrived.name, arrived.fields) == (an_event(), "finished", an_event().fields)


def test_a_line_of_a_worker_names_it_unless_it_names_one_itself():
    mine, of_another = record("hello"), record("hello", worker="box-2")
    with signature.of(lambda: "box-1"):
        assert KeyValueFormatter().format(mine).endswith(" message=hello worker=box-1")
        assert json.loads(JsonFormatter().format(mine))["worker"] == "box-1"
        assert KeyValueFormatter().format(of_another).endswith(" worker=box-2")
    assert KeyValueFormatter().format(mine).endswith(" message=hello")


def hidden_fields(source: str) -> list[str]:
    """Calls of a logger that put a field into a text, where JSON cannot find it."""
    return re.findall(r"""logger\.\w+\(\s*f?["'][^"']*=(?:%|{)[^\n]*""", source)


def test_no_line_of_the_worker_hides_a_field_in_its_text():
    assert hidden_fields('logger.info(\n    "started job=%d", 7)') == ['logger.info(\n    "started job=%d", 7)']
    sources = {path.name: path.read_text() for path in Path(jobs.worker.__path__[0]).glob("*.py")}
    assert sum("logger." in source for source in sources.values()) > 10
    assert {name: hidden for name, source in sources.items() if (hidden := hidden_fields(source))} == {}


@pytest.mark.parametrize("line_formatter", FORMATTERS)
@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_stays_in_its_line_and_in_its_value(line_formatter, text):
    line = line_formatter.format(record(text, kind=text, worker=text))
    assert not CONTROL.search(line)
    if isinstance(line_formatter, JsonFormatter):
        assert json.loads(line)["message"] == text.replace("\x00", "\ufffd").replace("\ud83d", "?")
    else:  # outside of quotes there are exactly our own names
        bare = re.sub(r'"(\\.|[^"\\])*"', "_", line)
        assert re.findall(r"(\w+)=", bare) == [
            "time",
            "level",
            "logger",
            "message",
            *(["kind", "worker"] if text else []),
        ]


@pytest.mark.parametrize("line_formatter", FORMATTERS)
def test_unicode_is_kept(line_formatter):
    assert "Grüße, 日本語 👩‍🚀" in line_formatter.format(record("Grüße, 日本語 👩‍🚀"))


@pytest.mark.parametrize("line_formatter", FORMATTERS)
@pytest.mark.parametrize("broken", [record("%s and %s", 1), record("%d", "x"), record("%s", Unprintable())])
def test_arguments_that_do_not_fit_cost_nobody_the_line(line_formatter, broken):
    assert "do not fit" in line_formatter.format(broken)


def test_an_exception_is_one_value_of_the_line():
    line = KeyValueFormatter().format(with_exception(lambda: fail("first\nsecond")))
    assert "\n" not in line
    assert r' exception="Traceback (most recent call last):\n  File \"' in line
    assert line.endswith(r'ValueError: first\nsecond"')
    told = json.loads(JsonFormatter().format(with_exception(lambda: fail("first\nsecond"))))
    assert told["exception"].startswith("Traceback (most recent call last):\n")
    assert told["exception"].endswith("\nValueError: first\nsecond")


@pytest.mark.parametrize("line_formatter", FORMATTERS)
def test_an_exception_that_cannot_be_printed_and_a_stack_are_lines_all_the_same(line_formatter):
    assert "Cursed" in line_formatter.format(with_exception(curse))
    assert "Stack (most recent" in line_formatter.format(record(stack_info="Stack (most recent call last):\n  here"))


SECRETS = {
    "MAIL_PASSWORD": "correct horse battery",
    "DATABASE_URL": "postgres://jobyard:p%40ssw%2Fword@db.example.org/jobyard",
}
LEAKS = [
    "login with correct horse battery",
    "cannot reach postgres://jobyard:p%40ssw%2Fword@db.example.org/jobyard",
    'connection to "db" failed: the password was p@ssw/word',
    "fetching https://anna:s3cret-of-anna@example.org/feed",
    "GET https://example.org/api?page=2&api_key=s3cret-of-anna&sort=up",
    "GET https://example.org/file?sig=s3cret-of-anna",
    "headers: {'Authorization': 'Bearer s3cret-of-anna'}",
    "token jy_0123abcd_" + "s3cret-of-anna" * 3 + " is in use",
    "signing with whsec_c3Nlc2NyZXQtb2YtYW5uYSBzM2NyZXQ=",
    "could not connect: host=db password=s3cret-of-anna port=5432",
]
LEAKED = re.compile("correct horse|p%40ss|p@ss|s3cret|c3Nl")


@pytest.mark.parametrize("line_formatter", [KeyValueFormatter, JsonFormatter])
@pytest.mark.parametrize("text", LEAKS)
def test_no_secret_gets_into_a_line(line_formatter, text, monkeypatch):
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    written = line_formatter()  # when logging is set up, the environment is there
    lines = [
        record("what happened: %s", text), record(text), record(kind=text), record(stack_info=text),
        record(Event("finished", reason=text)), record(Event("finished", reason=text + "x" * 300)), record(Event(text)),
        record("%s" + "x" * 100_000, text), with_exception(lambda: fail(text)),
    ]  # fmt: skip
    assert [line for line in map(written.format, lines) if LEAKED.search(line)] == []


@pytest.mark.parametrize("line_formatter", FORMATTERS)
def test_what_only_looks_a_little_like_a_secret_stays(line_formatter):
    text = "the key=value of job 7 in queue token-mail, see https://example.org:8443/a?page=2 and a@example.org"
    assert text in line_formatter.format(record(text))


@pytest.mark.parametrize("line_formatter", FORMATTERS)
def test_what_a_record_has_besides_is_left_out(line_formatter):
    assert "hunter2" not in line_formatter.format(record("hello", password="hunter2", request={"key": "hunter2"}))


def test_redacting_takes_time_by_the_length_of_the_text(monkeypatch):
    """Not by its square: whoever can make us log a text must not be able to stop us with it."""
    written = KeyValueFormatter()
    for hostile in (
        "a" * 300_000,
        "://" * 100_000,
        "token" * 60_000,
        "ab_" * 100_000,
        "bearer " * 40_000,
        "a:" * 150_000,
    ):
        started = time.process_time()
        written.format(record(hostile))
        assert time.process_time() - started < 2, hostile[:10]


@pytest.mark.parametrize("line_formatter", FORMATTERS)
def test_a_line_has_an_end(line_formatter):
    assert len(line_formatter.format(record("x" * 10_000_000))) < 50_000


def test_the_setting_chooses_the_formatter_and_a_wrong_one_is_left_to_the_check(settings):
    settings.JOBS_LOG_FORMAT = "json"
    assert isinstance(formatter(), JsonFormatter)
    settings.JOBS_LOG_FORMAT = "keyvalue"
    assert isinstance(formatter(), KeyValueFormatter)
    settings.JOBS_LOG_FORMAT = "xml"
    assert isinstance(formatter(), KeyValueFormatter)


def test_the_project_logs_with_it(settings):
    assert import_string(settings.LOGGING["formatters"]["line"]["()"]) is formatter
    assert import_string(settings.LOGGING["handlers"]["console"]["class"]) is StderrHandler


def test_lines_go_to_what_standard_error_is_now(capsys):
    handler = StderrHandler()
    handler.setFormatter(KeyValueFormatter())
    handler.handle(record("hello"))
    assert capsys.readouterr().err.endswith("message=hello\n")
