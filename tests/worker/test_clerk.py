"""The clerk: whatever the queue's connection does, each thing is said until it is answered, and counts once."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import timedelta
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from django.conf import LazySettings
from django.db import transaction
from django.utils import timezone

from jobs.exceptions import ClaimExpired, ClaimLost, InvalidInput, JobyardError
from jobs.handlers.base import Answer, ClaimedJob, ClaimRef, Orders, Outcome, PhaseReport, QualityReport, Report
from jobs.lifecycle.heartbeat import renew
from jobs.lifecycle.reap import reap_once
from jobs.models import Job, Worker
from jobs.states import PhaseStatus, QualityStatus, Status, WorkerStatus
from jobs.worker import clerk as clerk_module
from jobs.worker import persistence, renewals
from jobs.worker.clerk import Clerk, Found
from jobs.worker.database_client import DatabaseClient
from jobs.worker.heartbeat import Heartbeat
from jobs.worker.ledger import Ledger
from jobs.worker.messages import Asked, Granted
from jobs.worker.options import WorkerTally
from jobs.worker.persistence import GivenUp
from jobs.worker.queue_client import ClaimOrder, QueueUnavailable
from tests.concurrency.threads import TIMEOUT, Running, wait_until
from tests.factories import age, events_of, make_job, reload

pytestmark = pytest.mark.django_db(transaction=True)
R = TypeVar("R")
FOR_EVER = 1_000_000


class Unsteady(DatabaseClient):
    """A client of a database that is away, or whose answers get lost, for as many calls as a test says."""

    def __init__(self) -> None:
        super().__init__("tester")
        self.calls: list[str] = []
        self.away: Counter[str] = Counter()
        self.answers_lost: Counter[str] = Counter()
        self.errors: dict[str, Exception] = {}
        self.skips = 0  # beats that renew nothing, as those do that find the rows locked

    def through(self, name: str, call: Callable[[], R]) -> R:
        if self.away[name]:
            self.away[name] -= 1
            raise QueueUnavailable("it is away")
        if name in self.errors:
            raise self.errors.pop(name)
        self.calls.append(name)
        answer = call()
        if self.answers_lost[name]:
            self.answers_lost[name] -= 1
            raise QueueUnavailable("the answer was lost")
        return answer

    def register(self) -> str:
        return self.through("register", super().register)

    def reap(self) -> None:
        return self.through("reap", super().reap)

    def claim(self, order: ClaimOrder) -> list[ClaimedJob]:
        return self.through("claim", lambda: DatabaseClient.claim(self, order))

    def next_due_in(self) -> float | None:
        return self.through("next_due_in", super().next_due_in)

    def heartbeat(self, claims: Collection[ClaimRef], metadata: Any = None, *, lists_all: bool = True) -> Orders:
        return self.through("heartbeat", lambda: self.renew(claims, lists_all))

    def renew(self, claims: Collection[ClaimRef], lists_all: bool) -> Orders:
        if self.skips:
            self.skips -= 1
            return Orders()
        return DatabaseClient.heartbeat(self, claims, lists_all=lists_all)

    def report(self, report_: Report) -> None:
        return self.through("report", lambda: DatabaseClient.report(self, report_))

    def verify(self, claim: ClaimRef) -> None:
        return self.through("verify", lambda: DatabaseClient.verify(self, claim))

    def finish(self, outcomes: Sequence[Outcome]) -> list[Answer]:
        return self.through("finish", lambda: DatabaseClient.finish(self, outcomes))

    def sign_off(self, metadata: Any = None) -> None:
        return self.through("sign_off", lambda: DatabaseClient.sign_off(self, metadata))


class Office:
    """A clerk at work, and what it told its supervisor."""

    def __init__(self, client: Unsteady, *, reaps_first: bool = False) -> None:
        self.client, self.ledger = client, Ledger()
        self.registered: list[str] = []
        self.found: list[Found] = []
        self.finished: list[Answer] = []
        self.failures: list[BaseException] = []
        self.clerk = Clerk(
            client,
            self.ledger,
            reaps_first=reaps_first,
            on_registered=self.registered.append,
            on_found=self.found.append,
            on_finished=self.finished.extend,
            on_failure=self.failures.append,
        )

    def opened(self) -> "Office":
        self.clerk.start()
        wait_until(lambda: bool(self.registered or self.failures))
        return self

    def claimed(self, limit: int = 1) -> list[ClaimedJob]:
        """Look for work, and wait for what was found."""
        before = len(self.found)
        self.clerk.look(ClaimOrder(uuid4(), [], limit))
        wait_until(lambda: len(self.found) > before)
        return self.found[-1].jobs

    def looked_by_routine(self) -> list[ClaimedJob]:
        before = len(self.found)
        self.clerk.look(ClaimOrder(uuid4(), [], 1, is_routine=True))
        wait_until(lambda: len(self.found) > before)
        return self.found[-1].jobs

    def report(self, claim: ClaimRef, **what: Any) -> None:
        self.clerk.report(Report(claim, **what))

    def asked(self, claim: ClaimRef, report: Report | None = None) -> Exception | Granted | None:
        """Ask, and wait for the answer."""
        replies: list[Exception | Granted | None] = []
        self.clerk.ask(Asked(1, claim, report), replies.append)
        wait_until(lambda: bool(replies))
        return replies[0]

    def told(self, *outcomes: Outcome) -> list[Status | None]:
        """Hand outcomes in, and wait until they are answered: the statuses that their jobs took."""
        before = len(self.finished)
        with self.clerk._wake:  # so that they lie on the tray together
            self.clerk.finish(outcomes)
        wait_until(lambda: len(self.finished) == before + len(outcomes))
        return [answer.status for answer in self.finished[before:]]

    def close(self) -> None:
        if self.clerk.ident:
            self.clerk.close()
            self.clerk.join(20)
            assert not self.clerk.is_alive()


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Unsteady:
    monkeypatch.setattr(persistence, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(persistence, "LONGEST_PAUSE", 0.005)
    return Unsteady()


@pytest.fixture
def office(queue: Unsteady) -> Iterator[Office]:
    """Open, with an empty list of calls."""
    office = Office(queue).opened()
    queue.calls.clear()
    yield office
    queue.away.clear()
    office.close()


@pytest.fixture
def _seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may wait, waits."""
    monkeypatch.setattr(clerk_module, "REPORT_AT_MOST_EVERY", 3600)


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims may be renewed as often as somebody speaks of them."""
    monkeypatch.setattr(renewals, "SHARE_OF_INTERVAL", 0)


seldom = pytest.mark.usefixtures("_seldom")


def taken_by_another(settings: LazySettings) -> None:
    """Time passes, and a reaper takes all jobs back."""
    settings.JOBS_REAP_GRACE = 0
    age(10_000)
    assert reap_once().requeued


# Coming and going


@pytest.mark.parametrize(("reaps_first", "calls"), [(False, ["register"]), (True, ["register", "reap"])])
def test_it_registers_and_looks_after_crashed_workers_before_anything_else(queue: Unsteady, reaps_first, calls):
    queue.away["register"] = queue.away["reap"] = 2
    office = Office(queue, reaps_first=reaps_first).opened()
    assert (office.registered, queue.calls) == (["tester"], calls)
    office.close()
    assert Worker.objects.get().status == WorkerStatus.OFFLINE
    assert office.failures == []


def test_it_signs_off_when_all_is_told_also_through_an_outage(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    queue.away["finish"], queue.away["sign_off"] = 20, 3  # the longer one first
    office.clerk.finish([Outcome.completed(job.claim)])
    office.close()
    assert queue.calls[-2:] == ["finish", "sign_off"]
    assert reload(job.id).status == Status.COMPLETED
    assert Worker.objects.get().status == WorkerStatus.OFFLINE


def test_a_worker_whose_row_is_gone_has_nothing_to_sign_off(office: Office):
    Worker.objects.all().delete()
    office.close()
    assert office.failures == []


def test_an_error_that_waiting_will_not_cure_is_told_and_ends_it(queue: Unsteady):
    broken = RuntimeError("no such table")
    queue.errors["register"] = broken
    office = Office(queue).opened()
    office.clerk.join(20)
    assert office.failures == [broken]
    assert office.registered == []


@pytest.mark.parametrize("call", ["claim", "finish", "verify", "report"])
def test_giving_up_ends_it_although_the_queue_does_not_answer(office: Office, queue: Unsteady, call):
    make_job()
    (job,) = office.claimed()
    queue.away[call] = FOR_EVER
    {
        "claim": lambda: office.clerk.look(ClaimOrder(uuid4(), [], 1)),
        "finish": lambda: office.clerk.finish([Outcome.completed(job.claim)]),
        "verify": lambda: office.clerk.ask(Asked(1, job.claim), lambda refused: None),
        "report": lambda: office.report(job.claim, progress=1),
    }[call]()
    wait_until(lambda: queue.away[call] < FOR_EVER)
    assert office.clerk.is_alive()
    office.clerk.give_up()
    office.clerk.join(20)
    assert not office.clerk.is_alive()
    assert [type(failure) for failure in office.failures] == [GivenUp]
    assert reload(job.id).status == Status.RUNNING  # for the reaper


# Claiming


def test_what_it_claims_is_in_the_ledger_before_anybody_hears_of_it(office: Office):
    make_job()
    make_job()
    in_ledger: list[list[ClaimRef]] = []

    def hear(found: Found) -> None:
        in_ledger.append(office.ledger.claims())
        office.found.append(found)

    office.clerk.on_found = hear
    jobs = office.claimed(limit=5)
    assert len(jobs) == 2
    assert in_ledger == [[job.claim for job in jobs]]


def test_where_there_is_nothing_it_says_when_to_look_again(office: Office):
    assert office.claimed() == []
    assert office.found[-1].next_due_in is None
    make_job(run_after=timezone.now() + timedelta(minutes=5))
    assert office.claimed() == []
    due = office.found[-1].next_due_in
    assert due is not None
    assert 290 < due <= 300


def test_a_claim_whose_answer_was_lost_is_repeated_and_takes_no_more(office: Office, queue: Unsteady):
    first, second = make_job(), make_job()
    queue.away["claim"], queue.answers_lost["claim"] = 2, 2
    (job,) = office.claimed()
    assert (job.id, queue.calls) == (first.pk, ["claim"] * 3)
    assert reload(second).status == Status.PENDING
    assert events_of(first) == ["enqueued", "claimed"]


def test_a_claim_whose_answer_is_long_in_coming_is_not_taken_for_one_that_nobody_knows(
    office: Office, queue: Unsteady, monkeypatch: pytest.MonkeyPatch
):
    """Beats go by connections of their own: some may overtake it."""
    make_job()
    pulse = Heartbeat(queue, office.ledger, lambda orders: None, WorkerTally())
    claim = DatabaseClient.claim

    def slow(client: DatabaseClient, order: ClaimOrder) -> list[ClaimedJob]:
        jobs = claim(client, order)
        for _ in range(3):
            pulse.beat()
        reap_once()
        return jobs

    monkeypatch.setattr(DatabaseClient, "claim", slow)
    (job,) = office.claimed()
    assert reload(job.id).status == Status.RUNNING
    assert office.told(Outcome.completed(job.claim)) == [Status.COMPLETED]


# Outcomes


def test_an_outcome_whose_answer_was_lost_is_asked_for_again_and_counts_once(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    queue.away["finish"], queue.answers_lost["finish"] = 2, 2
    assert office.told(Outcome.completed(job.claim)) == [Status.COMPLETED]
    assert queue.calls.count("finish") == 3
    assert events_of(job.id) == ["enqueued", "claimed", "completed"]
    assert office.ledger.claims() == []


def test_a_routine_look_takes_what_is_there_also_if_its_answer_is_lost(office: Office, queue: Unsteady):
    assert office.looked_by_routine() == []
    make_job()
    queue.answers_lost["claim"] = 1  # the second call finds nothing ready, but what the first has taken
    assert len(office.looked_by_routine()) == 1


def test_outcomes_that_lie_on_the_tray_together_are_told_in_one_call(office: Office, queue: Unsteady):
    for _ in range(5):
        make_job(max_attempts=1)
    jobs = office.claimed(limit=5)
    outcomes = [Outcome.completed(job.claim) for job in jobs[:4]]
    statuses = office.told(*outcomes, Outcome.failed(jobs[4].claim, "broken"))
    assert statuses == [Status.COMPLETED] * 4 + [Status.FAILED]
    assert queue.calls.count("finish") == 1


def test_while_many_are_out_outcomes_wait_for_more_and_for_a_look_but_not_for_ever(
    office: Office, queue: Unsteady, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clerk_module, "MANY", 2)
    monkeypatch.setattr(clerk_module, "GATHER", 3600)
    for _ in range(5):
        make_job()
    jobs = office.claimed(limit=5)
    queue.calls.clear()
    office.clerk.finish([Outcome.completed(jobs[0].claim)])
    office.clerk.finish([Outcome.completed(jobs[1].claim)])
    assert office.claimed() == []  # goes with it, and where the queue answers one by one, first
    wait_until(lambda: len(office.finished) == 2)
    assert set(queue.calls[:2]) == {"finish", "claim"}
    assert queue.calls[0] == "finish" or queue.answers_several_at_once
    assert office.told(Outcome.completed(jobs[2].claim), Outcome.completed(jobs[3].claim)) == [Status.COMPLETED] * 2
    monkeypatch.setattr(clerk_module, "GATHER", 0.001)
    assert office.told(Outcome.completed(jobs[4].claim)) == [Status.COMPLETED]


def test_when_enough_outcomes_lie_there_they_are_told_though_many_are_out(
    office: Office, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(clerk_module, "MANY", 1)
    monkeypatch.setattr(clerk_module, "GATHER", 3600)
    monkeypatch.setattr(clerk_module, "ENOUGH", 2)
    for _ in range(4):
        make_job()
    jobs = office.claimed(limit=4)
    assert office.told(*(Outcome.completed(job.claim) for job in jobs[:2])) == [Status.COMPLETED] * 2


def test_what_comes_after_the_lease_ended_counts_while_nobody_has_taken_the_job(office: Office, queue: Unsteady):
    make_job()
    (late,) = office.claimed()
    age(10_000)
    make_job()
    (in_time,) = office.claimed()
    queue.away["heartbeat"] = 2
    outcomes = [Outcome.completed(job.claim) for job in (late, in_time)]
    assert office.told(*outcomes) == [Status.COMPLETED, Status.COMPLETED]
    assert [answer.claim for answer in office.finished] == [in_time.claim, late.claim]  # the one waits for no other
    assert queue.calls.count("heartbeat") == 1
    assert queue.calls.count("finish") == 2


@pytest.mark.usefixtures("_often")
def test_what_comes_late_is_repeated_until_a_beat_has_renewed_its_claim_and_keeps_no_other_waiting(
    office: Office, queue: Unsteady
):
    make_job()
    (late,) = office.claimed()
    age(10_000)
    make_job()
    (in_time,) = office.claimed()
    queue.skips = FOR_EVER
    office.clerk.finish([Outcome.completed(job.claim) for job in (late, in_time)])
    wait_until(lambda: queue.calls.count("finish") > 10)
    assert [answer.claim for answer in office.finished] == [in_time.claim]
    assert office.ledger.claims() == [late.claim]  # beats go on renewing it
    queue.skips = 0
    wait_until(lambda: len(office.finished) == 2)
    assert (office.finished[1].claim, office.finished[1].status) == (late.claim, Status.COMPLETED)
    assert office.ledger.claims() == []


def test_what_comes_late_and_is_never_renewed_is_refused_when_the_worker_must_go(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    age(10_000)
    queue.skips = FOR_EVER
    office.clerk.finish([Outcome.completed(job.claim)])
    wait_until(lambda: queue.calls.count("finish") > 10)
    office.clerk.give_up()
    office.clerk.join(20)
    assert [type(answer.refused) for answer in office.finished] == [ClaimExpired]
    assert office.failures == []
    assert reload(job.id).status == Status.RUNNING  # for the reaper


def test_what_comes_after_another_took_the_job_is_refused(office: Office, settings: LazySettings):
    make_job()
    (job,) = office.claimed()
    taken_by_another(settings)
    assert office.told(Outcome.completed(job.claim)) == [None]
    assert isinstance(office.finished[0].refused, ClaimLost)
    assert office.ledger.claims() == []


def test_a_late_outcome_of_a_worker_whose_row_is_gone_is_refused_and_it_goes_on(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    age(10_000)
    Worker.objects.all().delete()
    assert office.told(Outcome.completed(job.claim)) == [None]
    assert office.claimed() == []


def test_an_outcome_that_cannot_be_told_is_told_as_a_failure_and_keeps_no_other_from_its_answer(
    office: Office, queue: Unsteady, monkeypatch: pytest.MonkeyPatch
):
    make_job()
    make_job()
    jobs = office.claimed(limit=2)
    finish = queue.finish

    def picky(outcomes: Sequence[Outcome]) -> list[Answer]:
        if any(outcome.result == "odd" for outcome in outcomes):
            raise RuntimeError("unforeseen")
        return finish(outcomes)

    monkeypatch.setattr(queue, "finish", picky)
    outcomes = Outcome.completed(jobs[0].claim, "odd"), Outcome.completed(jobs[1].claim, "usual")
    assert office.told(*outcomes) == [Status.PENDING, Status.COMPLETED]
    assert reload(jobs[0].id).last_error == "The outcome was refused: RuntimeError: unforeseen"
    assert reload(jobs[0].id).attempt == 1


def test_an_error_nobody_foresaw_costs_the_outcome_and_not_the_worker(
    office: Office, queue: Unsteady, monkeypatch: pytest.MonkeyPatch
):
    make_job()
    (job,) = office.claimed()

    def broken(outcomes: Sequence[Outcome]) -> list[Answer]:
        raise RuntimeError("unforeseen")

    with monkeypatch.context() as patched:
        patched.setattr(queue, "finish", broken)
        assert office.told(Outcome.completed(job.claim)) == [None]
    assert office.finished[0].reason == "It could not be told: unforeseen"
    make_job()
    (following,) = office.claimed()
    assert office.told(Outcome.completed(following.claim)) == [Status.COMPLETED]
    assert reload(job.id).status == Status.RUNNING  # for the reaper
    assert office.ledger.claims() == []  # and no heartbeat keeps it from it


# Reports


@seldom
def test_of_many_reports_the_first_is_sent_and_the_rest_goes_as_one_before_the_outcome(office: Office, queue: Unsteady):
    make_job(max_attempts=1)
    (job,) = office.claimed()
    office.report(job.claim, progress=1, step="beginning")
    wait_until(lambda: reload(job.id).progress == 1)
    for percent in range(2, 60):
        office.report(job.claim, progress=percent)
    office.told(Outcome.failed(job.claim, "enough"))
    assert queue.calls == ["claim", "report", "report", "finish"]
    assert (reload(job.id).status, reload(job.id).progress, reload(job.id).step) == ("failed", 59, "beginning")


@seldom
def test_other_things_to_do_do_not_hurry_a_report_that_can_wait(office: Office, queue: Unsteady):
    make_job()
    make_job()
    long, short = office.claimed(limit=2)
    office.report(long.claim, progress=1)
    wait_until(lambda: reload(long.id).progress == 1)
    office.report(long.claim, progress=2)
    office.told(Outcome.completed(short.claim))
    office.claimed()
    assert office.asked(short.claim) is not None
    assert reload(long.id).progress == 1
    office.close()
    assert reload(long.id).progress == 2


def test_what_may_wait_is_sent_when_its_time_has_come(office: Office, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(clerk_module, "REPORT_AT_MOST_EVERY", 0.2)
    make_job()
    (job,) = office.claimed()
    for percent in (1, 2):
        office.report(job.claim, progress=percent)
    wait_until(lambda: reload(job.id).progress == 2)


@seldom
@pytest.mark.parametrize(
    "news",
    [
        {"phases": [PhaseReport("encode", 0, PhaseStatus.RUNNING)]},
        {"qualities": [QualityReport("720p", QualityStatus.IN_PROGRESS)]},
    ],
)
def test_a_change_of_status_is_sent_at_once_with_what_was_kept_back(office: Office, queue: Unsteady, news):
    make_job()
    (job,) = office.claimed()
    office.report(job.claim, progress=1)
    wait_until(lambda: reload(job.id).progress == 1)
    office.report(job.claim, progress=2)
    office.report(job.claim, **news)
    wait_until(lambda: reload(job.id).progress == 2)
    assert reload(job.id).phases.count() + reload(job.id).qualities.count() == 1
    assert queue.calls.count("report") == 2


def test_reports_outlast_an_outage_and_say_what_was_said_last(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    queue.away["report"] = 5
    office.report(job.claim, qualities=[QualityReport("720p", QualityStatus.IN_PROGRESS, segments_total=9)])
    office.report(job.claim, progress=40)
    wait_until(lambda: reload(job.id).progress == 40)
    quality = reload(job.id).qualities.get()
    assert (quality.status, quality.segments_total) == (QualityStatus.IN_PROGRESS, 9)


def test_an_expired_claim_is_renewed_and_the_report_repeated(office: Office):
    make_job()
    (job,) = office.claimed()
    age(10_000)
    office.report(job.claim, progress=40)
    wait_until(lambda: reload(job.id).progress == 40)
    assert not Job.objects.in_states(["expired"]).exists()


def test_a_report_that_is_refused_costs_nothing(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    office.report(job.claim, qualities=[QualityReport("720p", segments_completed=-1)])
    assert office.told(Outcome.completed(job.claim, "done")) == [Status.COMPLETED]
    assert queue.calls == ["claim", "report", "finish"]
    assert reload(job.id).result == "done"


def test_a_report_of_a_lost_claim_is_refused_and_the_worker_goes_on(office: Office, settings: LazySettings):
    make_job()
    (job,) = office.claimed()
    taken_by_another(settings)
    office.report(job.claim, progress=40)
    assert isinstance(office.asked(job.claim), ClaimLost)
    assert reload(job.id).progress == 0
    assert office.failures == []


def test_an_error_nobody_foresaw_costs_the_report_and_not_the_worker(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    queue.errors["report"] = RuntimeError("unforeseen")
    office.report(job.claim, progress=40)
    assert office.told(Outcome.completed(job.claim)) == [Status.COMPLETED]


# Questions


def test_what_is_asked_to_be_stored_is_stored_when_the_answer_comes_and_what_was_said_before_it_too(
    office: Office, queue: Unsteady
):
    make_job()
    (job,) = office.claimed()
    queue.away["report"] = 2
    office.report(job.claim, progress=5)
    assert office.asked(job.claim, Report(job.claim, checkpoint={"at": 7})) is None
    assert (reload(job.id).progress, reload(job.id).checkpoint) == (5, {"at": 7})


def test_asking_whether_a_claim_holds_renews_one_that_expired(office: Office):
    make_job()
    (job,) = office.claimed()
    assert office.asked(job.claim) is None
    age(10_000)
    assert office.asked(job.claim) is None
    assert not Job.objects.in_states(["expired"]).exists()


@pytest.mark.usefixtures("_often")
@pytest.mark.parametrize("report", [None, lambda claim: Report(claim, checkpoint={"at": 7})])
def test_a_question_is_repeated_until_a_beat_has_renewed_the_claim(office: Office, queue: Unsteady, report):
    make_job()
    (job,) = office.claimed()
    age(10_000)
    queue.skips = 10
    assert office.asked(job.claim, report and report(job.claim)) is None
    assert reload(job.id).checkpoint == ({"at": 7} if report else None)
    assert queue.calls.count("heartbeat") == 11


@pytest.mark.usefixtures("_often")
def test_a_number_that_moved_is_repeated_once(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    age(10_000)
    queue.skips = 1
    office.report(job.claim, progress=40)
    wait_until(lambda: queue.calls.count("report") == 2)
    assert office.claimed() == []
    assert (queue.calls.count("report"), reload(job.id).progress) == (2, 0)


@pytest.mark.postgres
@pytest.mark.parametrize("what", ["asked", "told"])
def test_a_claim_that_a_beat_is_just_renewing_is_not_taken_for_lost(
    office: Office, queue: Unsteady, monkeypatch: pytest.MonkeyPatch, what
):
    """It has the row locked, so that no other beat can renew it, and what it renewed is not committed yet."""
    monkeypatch.setattr(renewals, "SHARE_OF_INTERVAL", 1000)
    make_job()
    (job,) = office.claimed()
    age(10_000)
    locked, renewed = threading.Event(), threading.Event()

    def beat() -> None:
        with transaction.atomic():
            renew(office.client.worker.pk, [job.claim])
            locked.set()
            assert renewed.wait(TIMEOUT)

    beating = Running(beat)
    assert locked.wait(TIMEOUT)
    queue.calls.clear()
    say = office.asked if what == "asked" else lambda claim: office.told(Outcome.completed(claim))
    saying = Running(lambda: say(job.claim))
    asks = "verify" if what == "asked" else "finish"
    wait_until(lambda: queue.calls.count(asks) > 10)  # it has renewed, and heard all the same that it is expired
    renewed.set()
    beating.result()
    assert saying.result() == (None if what == "asked" else [Status.COMPLETED])
    assert queue.calls.count("heartbeat") == 1  # what is being claimed is in no list yet, and each beat counts it


@pytest.mark.parametrize(
    ("report", "error"),
    [
        (lambda claim: Report(claim, qualities=[QualityReport("720p", segments_completed=-1)]), InvalidInput),
        (lambda claim: Report(ClaimRef(claim.job_id, uuid4()), progress=1), ClaimLost),
    ],
)
def test_a_refusal_is_the_answer(office: Office, report, error):
    make_job()
    (job,) = office.claimed()
    assert isinstance(office.asked(job.claim, report(job.claim)), error)
    assert office.asked(job.claim) is None


def test_an_error_nobody_foresaw_is_told_to_the_handler_and_does_not_end_the_worker(office: Office, queue: Unsteady):
    make_job()
    (job,) = office.claimed()
    queue.errors["verify"] = RuntimeError("unforeseen")
    refused = office.asked(job.claim)
    assert isinstance(refused, JobyardError)
    assert str(refused) == "This could not be stored: unforeseen"
    assert office.asked(job.claim) is None
