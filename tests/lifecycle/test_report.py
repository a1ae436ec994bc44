"""Report: progress, step, phases, qualities and checkpoint of a running job; each report renews the lease."""

import pytest

from jobs.exceptions import InvalidInput
from jobs.handlers.base import ClaimRef, PhaseReport, QualityReport, Report
from jobs.lifecycle.finish import fail, release
from jobs.lifecycle.report import report
from jobs.models import JobEvent, PhaseProgress, QualityProgress
from jobs.states import PhaseStatus, QualityStatus
from tests.factories import age, claimed, events_of, reload

RUNNING, COMPLETED, FAILED = PhaseStatus.RUNNING, PhaseStatus.COMPLETED, PhaseStatus.FAILED


@pytest.fixture
def ref() -> ClaimRef:
    return claimed()


def test_progress_and_step_are_stored_with_an_event(ref: ClaimRef):
    report(Report(ref, progress=40, step="muxing"))
    job = reload(ref)
    assert (job.progress, job.step, job.progressed_at is None) == (40, "muxing", False)
    event = JobEvent.objects.get(name="progressed")
    assert (event.job_id, event.claim_id, event.attempt) == (ref.job_id, ref.claim_id, 1)
    assert event.reason == "40 % muxing"


def test_what_is_not_mentioned_stays(ref: ClaimRef):
    report(Report(ref, progress=40, step="muxing", checkpoint={"at": 1}))
    report(Report(ref))
    job = reload(ref)
    assert (job.progress, job.step, job.checkpoint) == (40, "muxing", {"at": 1})
    report(Report(ref, checkpoint=None))
    assert reload(ref).checkpoint is None


def test_the_same_progress_again_makes_no_second_event(ref: ClaimRef):
    report(Report(ref, progress=40))
    report(Report(ref, progress=40))
    assert events_of(ref).count("progressed") == 1


def test_every_report_renews_the_lease(ref: ClaimRef):
    age(100)
    report(Report(ref))
    age(100)
    report(Report(ref, progress=1))
    assert reload(ref).progress == 1


def test_a_report_charges_nothing_and_keeps_the_claim(ref: ClaimRef):
    report(Report(ref, progress=1))
    job = reload(ref)
    assert (job.attempt, job.claim_id) == (1, ref.claim_id)


def test_phases_keep_their_place_weight_and_result(ref: ClaimRef):
    planned = [PhaseReport("probe", 0, PhaseStatus.PENDING), PhaseReport("encode", 1, PhaseStatus.PENDING, weight=8)]
    report(Report(ref, phases=planned))
    report(Report(ref, phases=[PhaseReport("probe", 0, RUNNING, 50)]))
    report(Report(ref, phases=[PhaseReport("probe", 0, COMPLETED, 100, result={"length": 9})]))
    probe, encode = PhaseProgress.objects.filter(job=ref.job_id)
    assert (probe.status, probe.progress, probe.result, probe.attempt) == ("completed", 100, {"length": 9}, 1)
    assert probe.started_at is not None
    assert probe.finished_at is not None
    assert (encode.status, encode.weight, encode.started_at) == ("pending", 8, None)
    assert JobEvent.objects.get(name="phase_completed").reason == "probe"


def test_a_completed_phase_is_announced_once(ref: ClaimRef):
    for _ in range(2):
        report(Report(ref, phases=[PhaseReport("probe", 0, COMPLETED, 100)]))
    assert events_of(ref).count("phase_completed") == 1


def test_one_report_may_hold_several_words_on_one_phase_and_quality(ref: ClaimRef):
    phases = [PhaseReport("probe", 0, RUNNING, 10), PhaseReport("probe", 0, COMPLETED, 100)]
    qualities = [QualityReport("720p", QualityStatus.IN_PROGRESS), QualityReport("720p", QualityStatus.COMPLETED)]
    report(Report(ref, phases=phases, qualities=qualities))
    assert PhaseProgress.objects.get().status == "completed"
    assert QualityProgress.objects.get().status == "completed"


def test_a_phase_cut_off_by_the_end_of_its_attempt_is_shown_as_interrupted(ref: ClaimRef):
    report(Report(ref, phases=[PhaseReport("encode", 0, RUNNING, 10)]))
    assert PhaseProgress.objects.get().shown_status == "running"
    release(ref, "the worker stops")
    assert PhaseProgress.objects.get().shown_status == "interrupted"
    again = claimed(job=reload(ref))
    assert PhaseProgress.objects.get().status == "running"
    report(Report(again, phases=[PhaseReport("encode", 0, RUNNING, 20)]))
    assert PhaseProgress.objects.get().shown_status == "running"


def test_qualities_change_only_in_what_is_told(ref: ClaimRef):
    told = QualityReport("720p", QualityStatus.IN_PROGRESS, 0, 40, 0, details={"encoder": "x264"})
    report(Report(ref, qualities=[told]))
    report(Report(ref, qualities=[QualityReport("720p", progress=25, segments_completed=10, details={"w": 1280})]))
    quality = QualityProgress.objects.get(job=ref.job_id)
    assert (quality.status, quality.progress) == ("in_progress", 25)
    assert (quality.segments_completed, quality.segments_total) == (10, 40)
    assert quality.details == {"encoder": "x264", "w": 1280}
    assert (quality.started_at is None, quality.finished_at) == (False, None)


def test_a_completed_quality_is_announced_once(ref: ClaimRef):
    for _ in range(2):
        report(Report(ref, qualities=[QualityReport("720p", QualityStatus.COMPLETED, 100)]))
    assert JobEvent.objects.get(name="quality_completed").reason == "720p"
    assert QualityProgress.objects.get().finished_at is not None


def test_an_estimate_of_segments_that_falls_short_grows(ref: ClaimRef):
    report(Report(ref, qualities=[QualityReport("720p", QualityStatus.IN_PROGRESS, segments_total=10)]))
    report(Report(ref, qualities=[QualityReport("720p", segments_completed=12)]))
    quality = QualityProgress.objects.get()
    assert (quality.segments_completed, quality.segments_total) == (12, 12)


def test_when_a_job_fails_for_good_what_was_under_way_failed_with_it(ref: ClaimRef):
    phases = [PhaseReport("a", 0, COMPLETED, 100), PhaseReport("b", 1, RUNNING)]
    qualities = [QualityReport("1080p", QualityStatus.COMPLETED), QualityReport("720p", QualityStatus.IN_PROGRESS)]
    report(Report(ref, phases=phases, qualities=qualities))
    fail(ref, "broken", fatal=True)
    assert dict(PhaseProgress.objects.values_list("name", "status")) == {"a": "completed", "b": "failed"}
    assert dict(QualityProgress.objects.values_list("name", "status")) == {"1080p": "completed", "720p": "failed"}


def test_completed_qualities_survive_a_failed_attempt_and_the_others_wait_again(ref: ClaimRef):
    qualities = [QualityReport("1080p", QualityStatus.COMPLETED), QualityReport("720p", QualityStatus.IN_PROGRESS)]
    report(Report(ref, qualities=qualities))
    fail(ref, "broken")
    assert dict(QualityProgress.objects.values_list("name", "status")) == {"1080p": "completed", "720p": "pending"}


BAD = [-1, 101, 50.5, float("nan"), True, "50"]


@pytest.mark.parametrize("percent", BAD)
@pytest.mark.parametrize("where", ["job", "phase", "quality"])
def test_a_progress_that_is_no_percentage_is_refused_and_nothing_is_stored(ref: ClaimRef, where, percent):
    what = {
        "job": Report(ref, progress=percent, step="x"),
        "phase": Report(ref, step="x", phases=[PhaseReport("a", 0, RUNNING, percent)]),
        "quality": Report(ref, step="x", qualities=[QualityReport("a", progress=percent)]),
    }[where]
    with pytest.raises(InvalidInput, match="whole number from 0 to 100"):
        report(what)
    assert reload(ref).step == ""


@pytest.mark.parametrize("segments", [-1, 1.5, True])
@pytest.mark.parametrize("which", ["segments_total", "segments_completed"])
def test_segments_that_cannot_be_counted_are_refused(ref: ClaimRef, which, segments):
    with pytest.raises(InvalidInput, match="counted from 0"):
        report(Report(ref, qualities=[QualityReport("a", **{which: segments})]))


def phase(**values):
    return {"phases": [PhaseReport(**{"name": "mux", "position": 0, "status": RUNNING, **values})]}


def quality(**values):
    return {"qualities": [QualityReport("720p", **values)]}


REFUSED = [
    (quality(segments_total=2**31), "counted from 0 to 2147483647, not 2147483648"),
    (quality(segments_completed=-1), "counted from 0"),
    (quality(status="done"), "one of 'pending'"),
    (phase(weight=0), "weight of phase 'mux' is a number above zero, not 0"),
    (phase(weight=float("inf")), "above zero"),
    (phase(weight=float("nan")), "above zero"),
    (phase(weight="1"), "above zero"),
    (phase(position=-1), "position -1"),
    (phase(position=2**15), "0 to 32767"),
    (phase(status="done"), "one of 'pending'"),
]


@pytest.mark.parametrize(("what", "words"), REFUSED)
def test_numbers_that_no_column_holds_are_refused_in_a_sentence(ref: ClaimRef, what, words):
    with pytest.raises(InvalidInput, match=words):
        report(Report(ref, progress=50, **what))
    assert reload(ref).progress == 0


def test_the_largest_numbers_are_stored(ref: ClaimRef):
    most = quality(segments_total=2**31 - 1, segments_completed=2**31 - 1)
    report(Report(ref, **most, **phase(position=2**15 - 1, weight=1e300)))
    assert QualityProgress.objects.get().segments_completed == 2**31 - 1
    assert PhaseProgress.objects.get().position == 2**15 - 1


def test_generators_are_read_once_and_stored(ref: ClaimRef):
    report(Report(ref, qualities=(each for each in quality(progress=5)["qualities"])))  # type: ignore[arg-type]
    report(Report(ref, phases=(each for each in phase(progress=5)["phases"])))  # type: ignore[arg-type]
    assert (QualityProgress.objects.get().progress, PhaseProgress.objects.get().progress) == (5, 5)


TOO_LARGE = [
    ({"checkpoint": {"frames": "x" * 2000}}, "The checkpoint takes 20.. bytes as JSON or more; JOBS_MAX_RESULT allows"),
    ({"checkpoint": list(range(5000))}, "The checkpoint takes"),
    (phase(status=COMPLETED, result="x" * 2000), "The result of phase 'mux' takes 2002 bytes"),
    (quality(details={"log": "x" * 2000}), "What is told of quality '720p' takes"),
]


@pytest.mark.parametrize(("what", "words"), TOO_LARGE)
def test_what_a_later_attempt_would_build_on_is_stored_whole_or_refused(ref: ClaimRef, settings, what, words):
    settings.JOBS_MAX_RESULT = 1000
    report(Report(ref, checkpoint="before"))
    with pytest.raises(InvalidInput, match=words):
        report(Report(ref, progress=50, **what))
    job = reload(ref)
    assert (job.progress, job.checkpoint) == (0, "before")
    assert not PhaseProgress.objects.exists()
    assert not QualityProgress.objects.exists()
