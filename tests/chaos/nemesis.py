"""Who brings the faults: a plan that follows from its seed alone, and what is done to the site at each step of it."""

import errno
import random
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tests.chaos.actors import ENDS_WITHIN
from tests.chaos.history import told
from tests.chaos.site import LEASE, WORKERS, Site


@dataclass(frozen=True)
class Step:
    at: float
    fault: str
    target: str
    seconds: float  # until it is healed


@dataclass(frozen=True)
class Fault:
    begin: Callable[[Site, str], None]
    heal: Callable[[Site, str], None]
    targets: Sequence[str]
    shortest: float
    longest: float
    weight: int = 2  # how often it is in the deck


def kill(site: Site, name: str) -> None:
    site.actors[name].send(signal.SIGKILL)
    if (process := site.actors[name].process) is not None:
        process.wait()


def terminate(site: Site, name: str) -> None:
    site.actors[name].send(signal.SIGTERM)
    site.actors[name].leaves = True


def start_again(site: Site, name: str) -> None:
    actor = site.actors[name]
    if actor.leaves and actor.process is not None and not actor.frozen:
        actor.process.wait(ENDS_WITHIN)
    actor.start()


def stop(site: Site, name: str) -> None:
    site.actors[name].stop()


def go_on(site: Site, name: str) -> None:
    site.actors[name].go_on()


def cut_sessions(site: Site, name: str) -> None:
    """Half of all that are connected, whoever they are."""
    with site.database() as database:
        database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid % 2 = 0"
        )


def crash_database(site: Site, name: str) -> None:
    site.postgres.halt("immediate")


def start_database(site: Site, name: str) -> None:
    if not (site.postgres.data / "postmaster.pid").exists():
        site.postgres.launch()


def drop_packets(site: Site, name: str) -> None:
    site.proxies[name].drop()


def let_packets_through(site: Site, name: str) -> None:
    site.proxies[name].heal()


def reset_connections(site: Site, name: str) -> None:
    site.proxies[name].reset()


def move_clock(site: Site, name: str) -> None:
    (site.clocks / name).write_text(random.choice(("600", "-600")))


def set_clock_right(site: Site, name: str) -> None:
    (site.clocks / name).write_text("0")


def fill_disk(site: Site, name: str) -> None:
    """To the last byte; where there is no small file system for it, nothing."""
    if not site.can_fill:
        return
    with (site.scratch / "filler").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def empty_disk(site: Site, name: str) -> None:
    (site.scratch / "filler").unlink(missing_ok=True)


def kill_redis(site: Site, name: str) -> None:
    site.redis.kill()


def start_redis(site: Site, name: str) -> None:
    if site.redis.process is None or site.redis.process.poll() is not None:
        site.redis.start()


def nothing(site: Site, name: str) -> None:
    """It heals by itself."""


CONNECTED = (*WORKERS, "api", "clients", "reaper-1")
FAULTS = {
    "kill -9 of a worker": Fault(kill, start_again, WORKERS, 0.2, 2, weight=4),
    "SIGTERM to a worker": Fault(terminate, start_again, WORKERS, 0.2, 2),
    "worker stopped": Fault(stop, go_on, WORKERS, 0.5, 2.5 * LEASE, weight=4),
    "database sessions cut": Fault(cut_sessions, nothing, ("database",), 0, 0, weight=3),
    "database crashed": Fault(crash_database, start_database, ("database",), 0.1, 3),
    "packets dropped": Fault(drop_packets, let_packets_through, CONNECTED, 0.5, 2 * LEASE, weight=4),
    "connections reset": Fault(reset_connections, nothing, CONNECTED, 0, 0, weight=3),
    "clock moved": Fault(move_clock, set_clock_right, WORKERS, 1, 10),
    "scratch full": Fault(fill_disk, empty_disk, ("disk",), 1, 4),
    "kill -9 of the API server": Fault(kill, start_again, ("api",), 0.2, 2),
    "kill -9 of a reaper": Fault(kill, start_again, ("reaper-1", "reaper-2"), 0.2, 2),
    "kill -9 of Redis": Fault(kill_redis, start_redis, ("redis",), 0.2, 3),
}
CALM = 3.0  # seconds before the first fault
EVERY = 1.2  # seconds between two faults, on average


def plan(seed: int, seconds: float) -> list[Step]:
    """Dealt from a shuffled deck, so that a short run meets all of them, too."""
    chance, steps, deck = random.Random(seed), [], list[str]()
    at = CALM
    while at < seconds:
        if not deck:
            deck = [name for name, fault in FAULTS.items() for _ in range(fault.weight)]
            chance.shuffle(deck)
        name = deck.pop()
        fault = FAULTS[name]
        length = min(chance.uniform(fault.shortest, fault.longest), seconds - at)
        steps.append(Step(at, name, chance.choice(fault.targets), length))
        at += chance.expovariate(1 / EVERY)
    return steps


def torment(site: Site, steps: Sequence[Step]) -> None:
    """Each fault begins when its time has come, whatever else is broken then, and is healed after its length."""
    began = time.monotonic()
    agenda: list[tuple[float, int, bool, Step]] = []
    for number, step in enumerate(steps):
        heappush(agenda, (step.at, number, True, step))
    while agenda:
        at, number, begins, step = heappop(agenda)
        time.sleep(max(0.0, began + at - time.monotonic()))
        fault = FAULTS[step.fault]
        if begins:
            told(step.fault, who=step.target)
            attempt(fault.begin, site, step.target)
            heappush(agenda, (at + step.seconds, number, False, step))
        else:
            attempt(fault.heal, site, step.target)
            told("healed", who=step.target)


def attempt(act: Callable[[Site, str], None], site: Site, target: str) -> None:
    """Faults meet: the database to be crashed may be down already. Whatever is left over, `heal_all` puts right."""
    try:
        act(site, target)
    except Exception as error:
        print(f"{act.__name__} {target}: {error!r}"[:300], flush=True)


def heal_all(site: Site) -> None:
    """The server first: nobody could work without it."""
    for fault in sorted(FAULTS.values(), key=lambda fault: "database" not in fault.targets):
        for target in fault.targets:
            fault.heal(site, target)
