"""Whether attempts are counted as they were made: by the events alone, and with the numbers that they and rows hold."""

from collections.abc import Iterator

from tests.chaos.story import Event, JobRow, Story, names

# A claim begins an attempt; who hands its job back, waits for others, or never knew of the claim gets it back.
CHARGES = {"claimed": 1, "released": -1, "waiting": -1}
NEVER_KNOWN = "its worker does not list it"


def charge_of(event: Event) -> int:
    return -1 if is_given_back(event) else CHARGES.get(event.name, 0)


def is_given_back(event: Event) -> bool:
    return event.name == "reaped" and event.reason == NEVER_KNOWN


def attempts_are_charged_right(story: Story) -> Iterator[str]:
    """Each claim counts once; a job fails with its last attempt, neither before nor later."""
    for job in story.jobs:
        if wrong := first_wrong(job, story.of_job[job.id]):
            yield f"job {job.id}: {wrong}: {names(story, job.id)}"


def first_wrong(job: JobRow, events: list[Event]) -> str:
    attempt = 0
    for event in events:
        made = attempt + (event.name == "claimed")
        if event.attempt is not None and event.attempt != made:
            return f"{event.name} says attempt {event.attempt}, and it is {made}"
        if event.name == "failed" and made != job.max_attempts:
            return f"it failed after {made} attempts of {job.max_attempts}"
        if is_another_try(event) and made >= job.max_attempts:
            return f"it goes on ({event.name}) after {made} attempts of {job.max_attempts}"
        attempt = 0 if event.name == "requeued" else attempt + charge_of(event)
    return "" if attempt == job.attempt else f"its row says attempt {job.attempt}, and it is {attempt}"


def is_another_try(event: Event) -> bool:
    return event.name == "retrying" or (event.name == "reaped" and not is_given_back(event))
