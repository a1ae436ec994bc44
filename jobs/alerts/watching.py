"""One look at the queue: what is new, which alerts that means, and sending them. Workers do it in turn, or cron."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field

from jobs.alerts.rules import from_concerns, from_events
from jobs.alerts.sending import Sending, channels, send_due
from jobs.conf import conf
from jobs.lifecycle import turns
from jobs.lifecycle.raise_alerts import Raised, begin_reading, raise_alerts, raise_from_events
from jobs.lifecycle.send_alerts import forget_old_alerts
from jobs.selectors.alerts import Settled, Standing, events_between, failures_of, settled, standing
from jobs.selectors.changes import Moment, current_moment
from jobs.selectors.concerns import Concern, Disk, Snapshot, concerns
from jobs.selectors.depth import queue_depths
from jobs.selectors.disks import disks_here
from jobs.selectors.overview import snapshot
from jobs.selectors.throughput import HOUR, activity_by_queue
from jobs.selectors.transactions import longest_transaction
from jobs.selectors.workers import workers_by_status
from jobs.states import EventName

logger = logging.getLogger("jobs.alerts")
TURN = "alerts"
MOST_ROUNDS = 50  # of reading events


@dataclass
class Look:
    """What one look found, and what was sent."""

    raised: list[Raised] = field(default_factory=list)
    sent: int = 0
    not_sent: int = 0

    def note(self, sending: Sending) -> None:
        self.sent += sending.sent
        self.not_sent += sending.not_sent


def look_in_turn() -> Look | None:
    """What each worker calls each interval: one looks at the queue for all, and each at the disks of its machine."""
    wanted = channels()
    if not wanted:
        return None
    disks = disks_here()
    if turns.take(TURN, conf.REAP_INTERVAL):
        return look_once(disks, wanted)
    raised = from_concerns(concerns(Snapshot(disks=disks)))
    if not raised:
        return None
    raise_alerts(raised, wanted)
    return sent_after(Look(raised))


def look_once(disks: Sequence[Disk] | None = None, over: Sequence[str] | None = None) -> Look:
    """Judge all that is new, and send what is due."""
    disks = disks_here() if disks is None else disks
    wanted = channels() if over is None else over
    moment = current_moment()  # before anything else is read: what comes later is for the next look
    before = begun(moment)
    look = Look(judge_events(before, moment, wanted))
    found = from_concerns(concerns_now(before, bool(look.raised), tuple(disks)))
    if found:
        raise_alerts(found, wanted)
        look.raised += found
    if look.raised:
        forget_old_alerts()
    return sent_after(look) if look.raised or before.has_due else look


def dry_look() -> Look:
    """What would be raised now; nothing is written or sent."""
    moment = current_moment()
    before = standing() or Standing(moment.newest, [], has_due=False, is_busy=True)
    now = settled(before, moment)
    events, _ = events_between(before.position, now.position)
    failed = {(event.queue, event.subject) for event in events if event.name == EventName.FAILED and event.subject}
    return Look(
        [*from_events(events, failures_of(failed)), *from_concerns(concerns_now(before, True, tuple(disks_here())))]
    )


def begun(moment: Moment) -> Standing:
    before = standing()
    if before is None:
        begin_reading(moment.newest)
        before = standing()
    assert before is not None
    return before


def judge_events(before: Standing, moment: Moment, wanted: Sequence[str]) -> list[Raised]:
    """Batch by batch; each is judged once, by whoever moves the mark."""
    if moment.newest <= before.position:
        return []
    now, position, raised = settled(before, moment), before.position, list[Raised]()
    for _ in range(MOST_ROUNDS):
        batch, read = judged(position, now)
        if not raise_from_events(batch, wanted, seen=position, now_seen=read, waiting=now.waiting):
            logger.info("somebody else judges the events at this moment")
            return raised
        raised, position = raised + batch, read
        if position >= now.position:
            break
    return raised


def judged(position: int, now: Settled) -> tuple[list[Raised], int]:
    events, read = events_between(position, now.position)
    failed = {(event.queue, event.subject) for event in events if event.name == EventName.FAILED and event.subject}
    return from_events(events, failures_of(failed)), read


def concerns_now(before: Standing, has_news: bool, disks: tuple[Disk, ...]) -> list[Concern]:
    """An idle queue can be of no concern but for its disks and its database, which saves most of the reading."""
    longest = longest_transaction()
    if not before.is_busy and not has_news:
        return concerns(Snapshot(disks=disks, longest_transaction=longest))
    parts = queue_depths(), activity_by_queue(HOUR), workers_by_status()
    return concerns(snapshot(*parts, disks=disks, longest_transaction=longest))


def sent_after(look: Look) -> Look:
    look.note(send_due())
    return look
