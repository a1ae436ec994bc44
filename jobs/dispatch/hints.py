"""Hints over Redis: three streams by priority, of which one worker in each group hears each hint; and words to all.

A hint names a queue that has a job; the job itself is claimed in the database. Workers that serve the same queues, and
are alike in having a GPU or not, are a group: within it one worker is woken for each job.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Any

from jobs.conf import conf
from jobs.dispatch.link import RedisAway, link

WORDS = ("@", ":")  # what begins so is no queue, but said to all workers
LEVELS = ("high", "normal", "low")
LONGEST = 1000  # hints in a stream: if more lie there unread, every worker is busy and looks by itself
MOST = 256  # of one transaction for one queue: so many workers are woken, and find the rest
Hints = Mapping[tuple[str, str], int]  # how many for each queue and level


def level_of(priority: int) -> str:
    return "normal" if priority == 0 else "high" if priority > 0 else "low"


def is_word(heard: str) -> bool:
    return heard.startswith(WORDS)


def stream(level: str) -> str:
    return f"{conf.REDIS_PREFIX}:wake:{level}"


def words() -> str:
    return f"{conf.REDIS_PREFIX}:words"


def group_of(queues: Iterable[str], gpu: bool) -> str:
    """The same for workers that would claim the same jobs; a name of a queue may be long and hold anything."""
    told = json.dumps([gpu, sorted(set(queues))])
    return f"workers-{sha256(told.encode()).hexdigest()[:16]}"


def send(hints: Hints) -> None:
    """Where Redis is away they are lost, and workers find the jobs when they poll."""
    try:
        link().call(lambda client: add(client, hints))
    except RedisAway:
        return  # told when it happened


def add(client: Any, hints: Hints) -> None:
    with client.pipeline(transaction=False) as pipe:  # one by one, so that each one wakes another worker
        for level in LEVELS:
            for queue, number in ((queue, number) for (queue, its), number in hints.items() if its == level):
                if is_word(queue):
                    pipe.xadd(words(), {"word": queue}, maxlen=LONGEST)
                    continue
                for _ in range(min(number, MOST)):
                    pipe.xadd(stream(level), {"queue": queue}, maxlen=LONGEST)
        pipe.execute()


def count(jobs: Iterable[tuple[str, int]]) -> Counter[tuple[str, str]]:
    """Queues and priorities of jobs, as hints."""
    return Counter((queue, level_of(priority)) for queue, priority in jobs)
