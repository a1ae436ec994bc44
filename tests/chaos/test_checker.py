"""The judge of a chaos run is judged: a good story passes every check, each forged one fails the check it is for."""

from dataclasses import replace

import pytest

from tests.chaos import checker
from tests.chaos.charges import NEVER_KNOWN
from tests.chaos.history import Line
from tests.chaos.nemesis import FAULTS, plan
from tests.chaos.report import Recoveries, Rescues, recoveries, report, rescues
from tests.chaos.story import Event, JobRow, Lease, Story

pytestmark = pytest.mark.once


def events(job: int, *told: str) -> list[Event]:
    """`claimed:a:1` is an event of claim a that says attempt 1; each is committed a second after the one before."""
    found = []
    for number, text in enumerate(told):
        name, claim, attempt, *_ = [*text.split(":"), "", ""]
        ends = claim and name in checker.ENDS and name != "reaped"
        outcome = name if ends else ""
        worker, says = "ada" if claim else "", int(attempt) if attempt else None
        found.append(Event(100 * job + number, job, name, claim, outcome, worker, 10.0 + number, says))
    return found


def line(
    what: str, job: int, claim: str = "", at: float = 11.5, pid: int = 1, who: str = "", since: float = 0.0
) -> Line:
    return Line(what, job, 1, claim, pid, at, who, since)


GOOD = Story(
    lines=[
        *(line("enqueued", job) for job in (1, 2, 3, 4)),
        line("kill -9 of a worker", 0, at=11.5, who="ada"),
        line("healed", 0, at=11.6, who="ada"),
        line("start", 1, "a"), line("guard", 1, "a", at=11.6), line("effect", 1, "a", at=11.7),
        line("start", 1, "b", at=13.1), line("guard", 1, "b", at=13.2), line("effect", 1, "b", at=13.3),
        line("end", 1, "b"),
        line("start", 2, "a"), line("start", 2, "c"), line("end", 2, "c"),
        line("cancelled", 3, since=10.9, at=11.1), line("retried", 3, since=11.9, at=12.1),
        line("cancel_requested", 3, since=13.9, at=14.1),
        line("start", 4, "d"), line("work", 4, "d", at=11.9), line("start", 4, "e"), line("end", 4, "e"),
    ],
    jobs=[
        JobRow(1, "chaos.long", "completed", 2, max_attempts=2, key="1"),
        JobRow(2, "chaos.publishing", "completed", 1, max_attempts=1, key="2"),
        JobRow(3, "chaos.quick", "cancelled", 1, key="3"),
        JobRow(4, "chaos.exclusive", "completed", 2, max_attempts=2, key="4"),
    ],
    events=[
        *events(1, "enqueued::0", "claimed:a:1", "reaped:a:1", "claimed:b:2", "completed:b:2"),
        *events(2, "enqueued", "claimed:a", "released:a", "claimed:c", "completed:c"),
        *events(3, "enqueued", "cancelled", "requeued", "claimed:f", "cancel_requested:f", "cancelled:f"),
        *events(4, "enqueued", "claimed:d", "reaped:d", "claimed:e", "completed:e"),
    ],
    published=[(2, "c")],
    counted={"completed": 3, "cancelled": 1},
    leases=[Lease(4, "d", 14.0, at=11.0)],
)  # fmt: skip


def with_events(job: int, *told: str) -> Story:
    return replace(GOOD, events=[*(event for event in GOOD.events if event.job != job), *events(job, *told)])


def with_lines(*lines: Line) -> Story:
    return replace(GOOD, lines=[*GOOD.lines, *lines])


def without(what: str, job: int) -> Story:
    return replace(GOOD, lines=[each for each in GOOD.lines if (each.what, each.job) != (what, job)])


def with_job(job: JobRow) -> Story:
    return replace(GOOD, jobs=[*(each for each in GOOD.jobs if each.id != job.id), job])


FORGED = {
    "nothing is done": (checker.nothing_is_lost, Story()),
    "a job is gone": (checker.nothing_is_lost, with_lines(line("enqueued", 9))),
    "a job never ends": (checker.nothing_is_lost, with_job(JobRow(1, "chaos.long", "running"))),
    "a key has two jobs": (checker.nothing_is_lost, with_job(JobRow(9, "chaos.long", "completed", key="1"))),
    "an outcome is accepted twice": (
        checker.no_outcome_is_accepted_twice,
        with_events(1, "enqueued", "claimed:a", "retrying:a", "retrying:a", "claimed:b", "completed:b"),
    ),
    "a job ends twice": (
        checker.no_outcome_is_accepted_twice,
        with_events(1, "enqueued", "claimed:a", "failed:a", "claimed:b", "completed:b"),
    ),
    "a job runs too often": (
        checker.attempts_are_within_their_limit,
        with_job(JobRow(1, "chaos.long", "completed", max_attempts=1)),
    ),
    "a failure before the last attempt": (
        checker.attempts_are_charged_right,
        with_events(4, "enqueued", "claimed:d", "failed:d"),
    ),
    "another try after the last attempt": (
        checker.attempts_are_charged_right,
        with_events(4, "enqueued", "claimed:d", "retrying:d", "claimed:e", "reaped:e", "claimed:g", "completed:g"),
    ),
    "a release that is charged": (
        checker.attempts_are_charged_right,
        with_job(JobRow(2, "chaos.publishing", "completed", 2, max_attempts=2)),
    ),
    "a claim that is charged twice": (
        checker.attempts_are_charged_right,
        with_events(1, "enqueued", "claimed:a:2", "reaped:a:2", "claimed:b:2", "completed:b:2"),
    ),
    "a retry that keeps the old attempts": (
        checker.attempts_are_charged_right,
        with_events(3, "enqueued", "claimed:a", "cancel_requested:a", "cancelled:a", "requeued", "cancelled"),
    ),
    "a second claim while the first holds": (
        checker.no_two_claims_overlap,
        with_events(1, "enqueued", "claimed:a", "claimed:b", "completed:b"),
    ),
    "an outcome of somebody who does not hold it": (
        checker.no_two_claims_overlap,
        with_events(1, "enqueued", "claimed:a", "reaped:a", "claimed:b", "completed:a"),
    ),
    "run without a claim": (checker.each_execution_has_its_claim, with_lines(line("start", 1, "z"))),
    "one claim runs twice": (checker.each_execution_has_its_claim, with_lines(line("start", 1, "b"))),
    "completed without having run": (checker.what_completed_has_run, without("end", 1)),
    "an effect after the claim was lost": (
        checker.no_effect_by_a_lost_claim,
        with_lines(line("guard", 1, "a", at=13.0), line("effect", 1, "a", at=13.1)),
    ),
    "an effect without a question": (checker.no_effect_by_a_lost_claim, without("guard", 1)),
    "exclusive work after the claim was lost": (
        checker.exclusive_jobs_stop_in_time,
        with_lines(line("work", 4, "d", at=14.0)),
    ),
    "exclusive work long after it went on": (
        checker.exclusive_jobs_stop_in_time,
        with_lines(line("thawed", 0, at=14.0), line("work", 4, "d", at=15.5)),
    ),
    "exclusive work after the lease, before the claim's end": (
        checker.exclusive_jobs_stop_in_time,
        replace(GOOD, leases=[Lease(4, "d", 11.2, at=11.0)]),
    ),
    "exclusive work before its lease was renewed": (
        checker.exclusive_jobs_stop_in_time,
        replace(GOOD, leases=[Lease(4, "d", 11.2, at=11.0), Lease(4, "d", 15.0, at=11.95)]),
    ),
    "exclusive work without a lease": (checker.exclusive_jobs_stop_in_time, replace(GOOD, leases=[])),
    "published twice": (checker.published_once_by_who_completed, replace(GOOD, published=[(2, "c"), (2, "c")])),
    "published by the one who lost": (checker.published_once_by_who_completed, replace(GOOD, published=[(2, "a")])),
    "completed and not published": (checker.published_once_by_who_completed, replace(GOOD, published=[])),
    "cancelled and run again": (
        checker.cancelled_stays_cancelled,
        with_events(3, "enqueued", "cancelled", "claimed:a", "cancelled:a"),
    ),
    "asked to stop and put back": (
        checker.cancelled_stays_cancelled,
        with_events(3, "enqueued", "claimed:a", "cancel_requested:a", "released:a", "cancelled"),
    ),
    "a cancel that left no trace": (
        checker.what_was_answered_is_true,
        with_lines(line("cancelled", 1, since=11.0)),
    ),
    "a cancel whose only trace is of another time": (
        checker.what_was_answered_is_true,
        with_lines(line("cancelled", 3, since=16.0, at=16.1)),
    ),
    "a retry that left no trace": (
        checker.what_was_answered_is_true,
        with_lines(line("retried", 2, since=11.9, at=12.1)),
    ),
    "two retries that left one trace": (
        checker.what_was_answered_is_true,
        with_lines(line("retried", 3, since=12.1, at=12.2)),
    ),
    "a row that its events do not explain": (checker.events_tell_the_rows, with_job(JobRow(1, "chaos.long", "failed"))),
    "counters that count otherwise": (checker.events_tell_the_rows, replace(GOOD, counted={"completed": 4})),
}  # fmt: skip


@pytest.mark.parametrize("check", checker.CHECKS, ids=lambda check: check.__name__)
def test_a_good_story_passes(check: checker.Check):
    assert list(check(GOOD)) == []


@pytest.mark.parametrize(("check", "story"), FORGED.values(), ids=FORGED)
def test_a_forged_story_is_found_out(check: checker.Check, story: Story):
    assert list(check(story))


def test_every_check_has_a_forged_story():
    assert {check for check, _ in FORGED.values()} == set(checker.CHECKS)


def test_who_was_stopped_past_its_lease_may_find_out_when_it_goes_on():
    assert not list(
        checker.exclusive_jobs_stop_in_time(with_lines(line("thawed", 0, at=14.0), line("work", 4, "d", at=14.1)))
    )


def test_an_attempt_that_its_worker_never_knew_of_is_given_back():
    given_back = [
        replace(event, reason=NEVER_KNOWN) if event.name == "released" else event
        for event in events(2, "enqueued", "claimed:a:1", "released:a:1", "claimed:c:1", "completed:c:1")
    ]
    reaped = [replace(event, name="reaped") if event.reason else event for event in given_back]
    assert not list(checker.attempts_are_charged_right(replace(GOOD, events=reaped, jobs=[GOOD.jobs[1]])))


def test_a_lease_that_is_renewed_in_time_goes_on():
    renewed = replace(GOOD, leases=[Lease(4, "d", 11.2, at=11.0), Lease(4, "d", 15.0, at=11.1)])
    assert not list(checker.exclusive_jobs_stop_in_time(renewed))


def test_the_plan_follows_from_its_seed_and_a_minute_of_it_has_every_fault():
    assert plan(1, 60) == plan(1, 60) != plan(2, 60)
    assert {step.fault for step in plan(1, 60)} == set(FAULTS)
    assert all(step.at + step.seconds <= 60 for step in plan(1, 60))


def test_recovery_is_told_from_the_fault_on():
    assert recoveries(GOOD) == Recoveries([14.0 - 11.6], [])
    of_another = replace(GOOD, events=[*GOOD.events, Event(502, 5, "completed", "g", worker="bob", at=11.7)])
    assert recoveries(of_another) == recoveries(GOOD)
    of_all = replace(of_another, lines=[line("healed", 0, at=11.6, who="database")])
    assert recoveries(of_all) == Recoveries([], [11.7 - 11.6])
    assert rescues(GOOD) == Rescues([12.0 - 11.5] * 2, [13.0 - 12.0] * 2, [0, 0])
    overtaken = replace(GOOD, events=[*GOOD.events, Event(501, 5, "claimed", "f", at=12.5)])
    assert rescues(overtaken).begun_before == [1, 1]
    assert list(report(GOOD, 1, 60, [], ["x is lost"]))[-2:] == ["WRONG: x is lost", "verdict: 1 promises broken"]
    assert list(report(GOOD, 1, 60, [], []))[-1] == "verdict: every promise kept"
