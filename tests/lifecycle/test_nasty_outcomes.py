"""Whatever a handler sends, the outcome is recorded: sanitised or cut, and never a job left running."""

import json
import math
from typing import Any

import pytest

from jobs.handlers.base import Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.cancel import cancel
from jobs.lifecycle.finish import complete, fail, finish_one, release
from jobs.lifecycle.report import report
from jobs.models import JobEvent, PhaseProgress, QualityProgress
from jobs.states import PhaseStatus, QualityStatus, Status, Verdict
from tests.factories import claimed, reload


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


class Unreadable:
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


TOO_LARGE = "[cut: integer of more than 64 bits]"
RESULTS: dict[str, tuple[Any, Any]] = {
    "NUL": ({"a\x00": "b\x00c"}, {"a\ufffd": "b\ufffdc"}),
    "lone surrogate": ({"a": "\udfff"}, {"a": "?"}),
    "NaN and infinity": ([math.nan, -math.inf, 1.5], [None, None, 1.5]),
    "huge integer": ([2**63, 2**63 - 1, -(10**5000)], [TOO_LARGE, 2**63 - 1, TOO_LARGE]),
    "keys of any type": ({1: 2, None: 3, (1, 2): 4}, {"1": 2, "None": 3, "(1, 2)": 4}),
    "objects": ([{1}, b"x", 1 + 2j], [[1], "b'x'", "(1+2j)"]),
    "unreadable": ([Unreadable()], ["<text of Unreadable is not readable: RuntimeError>"]),
}


@pytest.mark.parametrize(("sent", "stored"), RESULTS.values(), ids=RESULTS)
def test_a_result_that_cannot_be_stored_is_cleaned(sent, stored):
    ref = claimed()
    assert complete(ref, sent).status == Status.COMPLETED
    assert reload(ref).result == stored


@pytest.mark.parametrize("sent", ["x" * 10_000_000, ["y" * 1000] * 10_000, deep(5000)], ids=["text", "list", "deep"])
def test_a_result_that_is_too_large_or_too_deep_becomes_a_note(sent):
    ref = claimed()
    assert complete(ref, sent).status == Status.COMPLETED
    stored = json.dumps(reload(ref).result)
    assert "cut" in stored
    assert len(stored) < 3000


NASTY = ["a\x00b", "a\ud800b", "z" * 10_000_000]


@pytest.mark.parametrize("text", NASTY, ids=["NUL", "surrogate", "10 MB"])
@pytest.mark.parametrize("as_exception", [True, False])
def test_an_error_is_cleaned_and_cut(text, as_exception):
    ref = claimed()
    fail(ref, ValueError(text) if as_exception else text)
    job = reload(ref)
    assert job.status == Status.PENDING
    assert 0 < len(job.last_error) <= 16 * 1024
    assert len(job.last_traceback) <= 16 * 1024
    assert "\x00" not in job.last_error


@pytest.mark.parametrize("text", NASTY, ids=["NUL", "surrogate", "10 MB"])
@pytest.mark.parametrize("cancel_first", [True, False])
@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.RELEASED, Verdict.CANCELLED])
def test_raw_outcomes_of_a_remote_worker_are_cleaned_whatever_ends_the_claim(text, cancel_first, verdict):
    ref = claimed()
    if cancel_first:
        cancel(ref.job_id)
    answer = finish_one(Outcome(ref, verdict, error=text, traceback=text))
    assert answer.status == (Status.CANCELLED if cancel_first else Status.PENDING)
    assert len(reload(ref).last_error) <= 16 * 1024


@pytest.mark.parametrize("text", NASTY, ids=["NUL", "surrogate", "10 MB"])
def test_a_report_is_cleaned_and_cut(text):
    ref = claimed()
    value = text[:1000]  # what is too large to be stored whole is refused
    phase = PhaseReport(text, 0, PhaseStatus.FAILED, result={value: value}, error=text)
    quality = QualityReport(text, QualityStatus.FAILED, error=text, details={value: value})
    report(Report(ref, progress=1, step=text, phases=[phase], qualities=[quality], checkpoint=[value]))
    job = reload(ref)
    assert 0 < len(job.step) <= 200
    assert job.checkpoint is not None
    assert len(PhaseProgress.objects.get().error) <= 16 * 1024
    assert len(QualityProgress.objects.get().error) <= 16 * 1024
    assert JobEvent.objects.filter(name="progressed").exists()
    complete(ref)


def test_secrets_of_the_environment_are_not_stored(monkeypatch):
    monkeypatch.setenv("PAYMENT_API_KEY", "sk-very-secret-1")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:hunter22@db/x")
    ref = claimed()
    try:
        raise ConnectionError("sk-very-secret-1 at postgres://u:hunter22@db/x, and ftp://me:pa55@host/")
    except ConnectionError as error:
        fail(ref, error)
    job = reload(ref)
    history = " ".join(JobEvent.objects.values_list("reason", flat=True))
    for text in (job.last_error, job.last_traceback, history):
        assert "secret-1" not in text
        assert "hunter22" not in text
        assert "pa55" not in text
    assert "[PAYMENT_API_KEY]" in job.last_error


def test_secrets_are_not_stored_from_released_cancelled_or_reported_texts_either(monkeypatch):
    monkeypatch.setenv("UPLOAD_TOKEN", "tok-0123456789")
    released, cancelled, reported = (claimed(queue=queue) for queue in "abc")
    release(released, "tok-0123456789 refused")
    cancel(cancelled.job_id)
    finish_one(Outcome(cancelled, Verdict.FAILED, error="tok-0123456789"))
    report(Report(reported, phases=[PhaseReport("a", 0, PhaseStatus.FAILED, error="tok-0123456789")]))
    texts = [reload(cancelled).last_error, PhaseProgress.objects.get().error]
    texts += JobEvent.objects.values_list("reason", flat=True)
    assert not [text for text in texts if "0123456789" in text]
