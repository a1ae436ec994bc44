"""The clerk: the thread that speaks with the queue for the supervisor. It claims, reports, and has outcomes handed in.

The supervisor never waits for it: through an outage it repeats one call, while handlers run on and clocks are watched.
"""

import logging
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from jobs.exceptions import JobyardError, WorkerNotFound
from jobs.handlers.base import Answer, ClaimedJob, ClaimRef, Outcome, Report
from jobs.logs import Event
from jobs.worker.hand_in import HandIn
from jobs.worker.leases import lease_clock
from jobs.worker.ledger import NEVER, Ledger
from jobs.worker.messages import Asked, Granted
from jobs.worker.notary import Notary, needs_notary
from jobs.worker.persistence import GivenUp, Persistence, pauses
from jobs.worker.queue_client import ClaimOrder, JobBusy, QueueClient, QueueRefuses
from jobs.worker.registrar import LOCKED_AGAIN, Registrar
from jobs.worker.renewals import Renewals
from jobs.worker.reporting import Digest, News
from jobs.worker.tray import Reply, Tray

logger = logging.getLogger("jobs.worker")
REPORT_AT_MOST_EVERY = 1.0  # seconds; each report is a transaction
MANY, GATHER = 50, 0.1  # jobs that are out, and seconds: so many are held only where they take a moment each
ENOUGH = 500  # outcomes: more of them together are hardly cheaper
ONCE_MORE = (0.0,)  # seconds: so often is a report repeated whose claim has expired
NO_JOBS: Mapping[ClaimRef, ClaimedJob] = {}


@dataclass(frozen=True)
class Found:
    """What a look for work brought; where it brought nothing, when to look again at the latest."""

    order: ClaimOrder
    jobs: list[ClaimedJob]
    next_due_in: float | None = None


class Clerk(threading.Thread):
    def __init__(
        self,
        client: QueueClient,
        ledger: Ledger,
        *,
        reaps_first: bool,
        ticks_first: bool = False,
        beat_before_leaving: Callable[[], None] | None = None,
        last_words: Callable[[], Mapping[str, Any]] = dict,
        on_registered: Callable[[str], None],
        on_found: Callable[[Found], None],
        on_finished: Callable[[list[Answer]], None],
        on_failure: Callable[[BaseException], None],
    ) -> None:
        super().__init__(name="clerk", daemon=True)
        self.client, self.ledger = client, ledger
        self.reaps_first, self.ticks_first, self.beat_before_leaving = reaps_first, ticks_first, beat_before_leaving
        self.last_words = last_words
        self.on_registered, self.on_found = on_registered, on_found
        self.on_finished, self.on_failure = on_finished, on_failure
        self.persist = Persistence()
        self.renewals = Renewals(client, ledger, self.persist)
        self.hand_in = HandIn(client, self.persist, self.renewals, self.forget, on_finished)
        self.registrar = Registrar(client, self.hand_in, on_finished, on_failure)
        self.notary = Notary(client, self.hand_in, on_finished, on_failure)
        self.known_as = ""  # the name that the queue knows this worker by, once it does
        self._tray, self._wake = Tray(), threading.Condition()
        self._kept, self._kept_until = Tray(), NEVER  # what is said of jobs that somebody keeps locked
        self._closing = False
        self._reported_at: dict[ClaimRef, float] = {}
        self._news: dict[ClaimRef, News] = {}
        self._urgent: set[ClaimRef] = set()

    # What the supervisor puts on the tray

    def finish(self, outcomes: Iterable[Outcome], jobs: Mapping[ClaimRef, ClaimedJob] = NO_JOBS) -> None:
        with self._wake:
            if not self._tray.outcomes:
                self._tray.since = monotonic()
            for outcome in outcomes:
                job = jobs.get(outcome.claim)
                if job and needs_notary(job, outcome):
                    self._tray.for_notary.append((job, outcome))
                else:
                    self._tray.outcomes.append(outcome)
            self._wake.notify()

    def report(self, report: Report) -> None:
        with self._wake:
            if self._news.setdefault(report.claim, News()).is_in(report):
                self._urgent.add(report.claim)
            self._tray.reports.setdefault(report.claim, Digest()).add(report)
            self._wake.notify()

    def ask(self, asked: Asked, reply: Reply) -> None:
        with self._wake:
            self._tray.asked.append((asked, reply))
            self._wake.notify()

    def look(self, order: ClaimOrder) -> None:
        with self._wake:
            self._tray.claim = order
            self._wake.notify()

    def forget(self, claims: Collection[ClaimRef]) -> None:
        """The claims are over: nothing is to be said of them any more."""
        with self._wake:
            self.ledger.drop(claims)
            self._urgent.difference_update(claims)
            for known in (self._tray.reports, self._reported_at, self._news):
                for claim in claims if known else ():  # never through the dictionary: another thread may add to it
                    known.pop(claim, None)

    def close(self) -> None:
        """Do what is on the tray, then end."""
        with self._wake:
            self._closing = True
            self._wake.notify()

    def hurry(self) -> None:
        """Repeat no call that the queue does not answer."""
        self.persist.give_up.set()

    def give_up(self) -> None:
        """End even if the queue does not answer."""
        self.hurry()
        self.close()

    # What the clerk does with it

    def run(self) -> None:
        try:
            self.known_as = self.persist(self.client.register)
            if self.reaps_first:
                self.persist(self.client.reap)
            if self.ticks_first:  # before the first look for work: one that exits when there is none would miss it
                self.persist(lambda: self.client.tick(sync=True))
            self.on_registered(self.known_as)
            while (tray := self.take()) is not None:
                self.serve(tray)
            self.sign_off()
        except BaseException as error:  # without the clerk nothing goes on: the supervisor must know
            self.on_failure(error)
        finally:
            self.registrar.end()
            self.notary.close()
            self.client.hang_up()

    def sign_off(self) -> None:
        """When all is told."""
        self.registrar.end()
        try:
            self.persist(lambda: self.client.sign_off(self.last_words()))
        except WorkerNotFound as error:
            logger.warning(Event("could not sign off", error=str(error)))

    def take(self) -> Tray | None:
        """Wait for something to do; reports that merely moved a number are let lie for a while."""
        with self._wake:
            while True:
                self.look_at_kept()
                tray, wait = self._tray, self.patience()
                if tray.for_notary or tray.asked or tray.claim or wait == 0:
                    self.leave_what_can_wait()
                    return tray
                if self._closing:
                    return None
                self._wake.wait(wait)

    def patience(self) -> float | None:
        """Seconds until a report or an outcome should be sent; None if there is none."""
        now = monotonic()
        waits = [self.due_in(claim, now) for claim in self._tray.reports]
        if self._kept.claims():
            waits.append(max(0.0, self._kept_until - now))
        if self._tray.outcomes:
            waits.append(self.outcomes_due_in(now))
        return min(waits, default=None)

    def outcomes_due_in(self, now: float) -> float:
        """At once; but where many others are about to end, they are told together."""
        still_out = len(self.ledger) - len(self._tray.outcomes)
        if self._closing or still_out < MANY or len(self._tray.outcomes) >= ENOUGH:
            return 0.0
        return max(0.0, self._tray.since + GATHER - now)

    def due_in(self, claim: ClaimRef, now: float) -> float:
        if claim in self._urgent or self._closing:
            return 0.0
        return max(0.0, self._reported_at.get(claim, NEVER) + REPORT_AT_MOST_EVERY - now)

    def leave_what_can_wait(self) -> None:
        """A new tray. What is said of an attempt that asks, or has ended, goes with its last word and before it."""
        tray, now = self._tray, monotonic()
        now_due = {outcome.claim for outcome in tray.outcomes} | {asked.claim for asked, _ in tray.asked}
        now_due |= {outcome.claim for _, outcome in tray.for_notary}
        now_due |= {claim for claim in tray.reports if self.due_in(claim, now) == 0}
        self._tray = Tray(reports={claim: tray.reports.pop(claim) for claim in tray.reports.keys() - now_due})
        self._urgent -= now_due

    def serve(self, tray: Tray) -> None:
        self.client.rest()
        self.keep(tray.split(self._kept.claims()))  # it goes with what was said before
        busy = {claim for claim, digest in tray.reports.items() if not self.deliver(digest.report())}
        if not self.is_leaving:
            self.keep(tray.split(busy))
        if tray.outcomes:
            self.registrar.finish(tray.outcomes)
        for job, outcome in tray.for_notary:
            self.notary.finish(job, outcome)
        for asked, reply in tray.asked:
            said = self.answer(asked)
            if isinstance(said, JobBusy) and not self.is_leaving:
                self.keep(Tray(asked=[(asked, reply)]))
            else:
                reply(said)
        if tray.claim:
            self.on_found(self.claim(tray.claim))

    @property
    def is_leaving(self) -> bool:
        return self._closing or self.persist.give_up.is_set()

    def keep(self, tray: Tray) -> None:
        """What is said of jobs that somebody keeps locked, for a while: nothing of others waits for it."""
        if tray.claims():
            if not self._kept.claims():
                self._kept_until = monotonic() + LOCKED_AGAIN
            tray.put_before(self._kept)
            self._kept = tray

    def look_at_kept(self) -> None:
        """Put it back on the tray when its time has come."""
        if self._kept.claims() and (self.is_leaving or monotonic() >= self._kept_until):
            self._tray.put_before(self._kept)
            self._urgent |= self._kept.reports.keys()
            self._kept = Tray()

    def deliver(self, report: Report) -> bool:
        """False where it was not heard at all. One that is refused costs nobody anything: whether the claim holds is
        found out in other ways, too."""
        self._reported_at[report.claim] = monotonic()
        refused = self.answer(Asked(0, report.claim, report), ONCE_MORE)
        if refused and not isinstance(refused, JobBusy):
            logger.warning(Event("report refused", job=report.claim.job_id, reason=str(refused)))
        return not isinstance(refused, JobBusy)

    def answer(self, asked: Asked, patience: Iterable[float] | None = None) -> Exception | Granted | None:
        """Store what the handler waits for, or ask whether its claim holds; an expired one is renewed first, which may
        take as long as somebody else has its row locked."""
        try:
            return self.renewals.while_expired(asked.claim, partial(self.ask_queue, asked), patience or pauses())
        except (JobyardError, JobBusy) as error:
            return error
        except (GivenUp, QueueRefuses):
            raise
        except Exception as error:  # whatever one handler says: the others' worker goes on
            logger.exception(Event("a report could not be stored", job=asked.claim.job_id))
            return JobyardError(f"This could not be stored: {error}")

    def ask_queue(self, asked: Asked) -> Granted | None:
        if asked.wish:
            wish = asked.wish
            return Granted(self.persist(lambda: self.client.spawn(asked.claim, wish)))
        if asked.report:
            report = asked.report
            self.persist(lambda: self.client.report(report))
        else:
            self.persist(lambda: self.client.verify(asked.claim))
        return None

    def claim(self, order: ClaimOrder) -> Found:
        """Who was taken for dead, or disabled, is given nothing: one that would leave for that asks twice."""
        jobs = self.take_up(order)
        if not jobs and not self.ledger and self.beat_before_leaving:
            self.persist(self.beat_before_leaving)
            jobs = self.take_up(order)
        return Found(order, jobs, None if jobs else self.persist(self.client.next_due_in))

    def take_up(self, order: ClaimOrder) -> list[ClaimedJob]:
        began = lease_clock()
        with self.ledger.claiming():
            jobs = self.persist(lambda: self.client.claim(order))
            self.ledger.add(jobs, began)
        return jobs
