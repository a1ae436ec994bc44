"""Whether a story keeps our promises: each check is a function that yields what it finds wrong, in words."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator

from tests.chaos.charges import attempts_are_charged_right
from tests.chaos.history import Line
from tests.chaos.story import BACK, ENDED, ENDS, Event, Story, names

Check = Callable[[Story], Iterator[str]]
SLACK = 0.5  # seconds from a commit's time stamp until all see it, on a machine that is busy
THAW = 1.0  # seconds in which a process that was stopped past its lease finds that out
# What a client was answered, and the event that makes it true.
ANSWERS = {"cancelled": "cancelled", "cancel_requested": "cancel_requested", "retried": "requeued"}


def nothing_is_lost(story: Story) -> Iterator[str]:
    """Every job that somebody was told of is there, and has ended; every key is there once."""
    rows = {job.id: job for job in story.jobs}
    if not any(job.status == "completed" for job in story.jobs):
        yield "nothing was done at all"
    for line in story.said("enqueued"):
        if line.job not in rows:
            yield f"job {line.job} was enqueued and is not there"
    for job in story.jobs:
        if job.status not in ENDED:
            yield f"job {job.id} ({job.kind}) never ended: it is {job.status}"
    for key, times in Counter(job.key for job in story.jobs if job.key).items():
        if times > 1:
            yield f"the key {key!r} has {times} jobs"


def no_outcome_is_accepted_twice(story: Story) -> Iterator[str]:
    accepted = Counter((event.job, event.claim) for event in story.events if event.outcome)
    for (job, claim), times in accepted.items():
        if times > 1:
            yield f"job {job}: {times} outcomes of claim {claim} were accepted"
    for job, events in story.of_job.items():
        ended = False
        for event in events:
            if event.name in ENDED:
                if ended:
                    yield f"job {job} ended twice: {names(story, job)}"
                ended = True
            elif event.name == "requeued":
                ended = False


def attempts_are_within_their_limit(story: Story) -> Iterator[str]:
    """Executions since the last retry, those left out that were handed back, are no more than max_attempts."""
    started = {(line.job, line.claim) for line in story.said("start")}
    limits = {job.id: job.max_attempts for job in story.jobs}
    for job, events in story.of_job.items():
        executions = 0
        for event in events:
            if event.name == "requeued":
                executions = 0
            elif event.name == "claimed" and (job, event.claim) in started:
                executions += 1
            elif event.name in ("released", "waiting") and (job, event.claim) in started:
                executions -= 1
            if executions > limits.get(job, 0):
                yield f"job {job} ran {executions} times of {limits.get(job, 0)}: {names(story, job)}"
                break


def no_two_claims_overlap(story: Story) -> Iterator[str]:
    for job, events in story.of_job.items():
        holder = ""
        for event in events:
            if event.name == "claimed":
                if holder:
                    yield f"job {job} was claimed by {event.claim} while {holder} held it"
                holder = event.claim
            elif event.name in ENDS and event.claim:
                if event.claim != holder:
                    yield f"job {job}: {event.name} by {event.claim}, but {holder or 'nobody'} held it"
                holder = ""


def each_execution_has_its_claim(story: Story) -> Iterator[str]:
    claimed = {(event.job, event.claim) for event in story.events if event.name == "claimed"}
    for (job, claim), times in Counter((line.job, line.claim) for line in story.said("start")).items():
        if (job, claim) not in claimed:
            yield f"job {job} ran without a claim: {claim}"
        if times > 1:
            yield f"job {job} ran {times} times on claim {claim}"


def what_completed_has_run(story: Story) -> Iterator[str]:
    ran = {(line.job, line.claim) for line in story.said("end")}
    for event in story.events:
        if event.name == "completed" and (event.job, event.claim) not in ran:
            yield f"job {event.job} was completed by claim {event.claim}, which did not come to its end"


def no_effect_by_a_lost_claim(story: Story) -> Iterator[str]:
    """Who was let through before an irreversible step held the claim when the database said so."""
    asked = {(line.job, line.claim): line.at for line in story.said("guard")}  # the last one, if it had to ask again
    for line in story.said("effect"):
        ended = story.claim_ends.get((line.job, line.claim))
        when = asked.get((line.job, line.claim))
        if when is None:
            yield f"job {line.job} took effect without having asked"
        elif ended and when > ended.at + SLACK:
            yield f"job {line.job} was let through {when - ended.at:.1f} s after claim {line.claim} {ended.name}"


def exclusive_jobs_stop_in_time(story: Story) -> Iterator[str]:
    """No work after the lease, as it stood then; one whose process was stopped meanwhile finds out when it goes on."""
    thawed: defaultdict[int, list[float]] = defaultdict(list)
    for line in story.said("thawed"):
        thawed[line.pid].append(line.at)
    for line in story.said("work"):
        if any(0 <= line.at - at <= THAW for at in thawed[line.pid]):
            continue
        if (late := line.at - may_work_until(story, line)) > SLACK:
            yield f"job {line.job} worked {late:.1f} s after claim {line.claim}, or its lease, was over"


def may_work_until(story: Story, line: Line) -> float:
    """The end of the last lease that had been given by then, unless the claim ended before."""
    key = line.job, line.claim
    until = max((lease.ends for lease in story.leases_of[key] if lease.at <= line.at), default=0.0)
    ended = story.claim_ends.get(key)
    return min(until, ended.at) if ended else until


def published_once_by_who_completed(story: Story) -> Iterator[str]:
    kinds = {job.id: job.kind for job in story.jobs}
    completed = Counter(
        (event.job, event.claim)
        for event in story.events
        if event.name == "completed" and kinds.get(event.job) == "chaos.publishing"
    )
    published = Counter(story.published)
    for job, claim in (published - completed) + (completed - published):
        times, ends = published[job, claim], completed[job, claim]
        yield f"job {job}: published {times} times by {claim}, which completed it {ends} times"


def cancelled_stays_cancelled(story: Story) -> Iterator[str]:
    """Until somebody retries it: also where the cancel was only asked for, and whatever ended the claim then."""
    for job, events in story.of_job.items():
        asked = False
        for event in events:
            if event.name == "requeued":
                asked = False
            elif event.name in ("cancelled", "cancel_requested"):
                asked = True
            elif asked and event.name in ("claimed", *BACK):
                yield f"job {job} was cancelled, and then {event.name}: {names(story, job)}"
                break


def what_was_answered_is_true(story: Story) -> Iterator[str]:
    """To each cancel and each retry that was accepted belongs an event of its own, from the time of that call."""
    used: set[int] = set()
    for line in story.said(*ANSWERS):
        found = next((event for event in story.of_job[line.job] if event.id not in used and answers(event, line)), None)
        if found is None:
            yield f"job {line.job} was said to be {line.what}, and no event of that time says so"
        else:
            used.add(found.id)


def answers(event: Event, line: Line) -> bool:
    return event.name == ANSWERS[line.what] and line.since - SLACK <= event.at <= line.at + SLACK


def events_tell_the_rows(story: Story) -> Iterator[str]:
    """Who reads only the events comes to the state that is stored; and so do the counters."""
    becomes = {"enqueued": "pending", "requeued": "pending", "claimed": "running", **dict.fromkeys(BACK, "pending")}
    becomes |= {name: name for name in ENDED}
    for job in story.jobs:
        states = [becomes[event.name] for event in story.of_job[job.id] if event.name in becomes]
        if not states or states[0] != "pending" or states[-1] != job.status:
            yield f"job {job.id} is {job.status}, but its events say {names(story, job.id)}"
    rows = Counter(job.status for job in story.jobs)
    if rows != Counter(story.counted):
        yield f"the counters say {dict(story.counted)}, the rows {dict(rows)}"


CHECKS: tuple[Check, ...] = (
    nothing_is_lost,
    no_outcome_is_accepted_twice,
    attempts_are_within_their_limit,
    attempts_are_charged_right,
    no_two_claims_overlap,
    each_execution_has_its_claim,
    what_completed_has_run,
    no_effect_by_a_lost_claim,
    exclusive_jobs_stop_in_time,
    published_once_by_who_completed,
    cancelled_stays_cancelled,
    what_was_answered_is_true,
    events_tell_the_rows,
)
