"""Who brings the faults: a plan that follows from its seed alone, and what is done to the site at each step of it."""

import errno
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from tests.chaos.actors import told_by_kernel, with_mark
from tests.chaos.history import ENDLESS, now, told
from tests.chaos.site import LEASE, WORKERS, Site


@dataclass(frozen=True)
class Step:
    at: float
    fault: str
    target: str
    seconds: float  # until it is healed


@dataclass(frozen=True)
class Fault:
    begin: Callable[[Site, str], bool]  # whether it took effect: what it is to break may be broken
    heal: Callable[[Site, str], None]
    targets: Sequence[str]
    shortest: float
    longest: float
    weight: int = 2  # how often it is in the deck


def kill(site: Site, name: str) -> bool:
    actor = site.actors[name]
    bereaved = [pid for pid in with_mark(actor.mark) if ENDLESS in told_by_kernel(pid, "cmdline")]
    if not actor.kill():
        return False
    for pid in bereaved:
        told("bereaved", who=name, pid=pid)
    return True


def terminate(site: Site, name: str) -> bool:
    return site.actors[name].terminate()


def start_again(site: Site, name: str) -> None:
    actor = site.actors[name]
    if actor.leaves and not actor.frozen:
        actor.await_end()
    actor.start()


def stop(site: Site, name: str) -> bool:
    return site.actors[name].stop()


def go_on(site: Site, name: str) -> None:
    actor = site.actors[name]
    actor.go_on()
    if actor.leaves:  # it was asked to while it could not hear
        start_again(site, name)


def cut_sessions(site: Site, name: str) -> bool:
    """Half of all that are connected, whoever they are."""
    with site.database() as database:
        cut = database.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid % 2 = 0"
        ).fetchall()
    return bool(cut)


def crash_database(site: Site, name: str) -> bool:
    """One that is down cannot be halted: that is an error."""
    site.postgres.halt("immediate")
    return True


def start_database(site: Site, name: str) -> None:
    if not (site.postgres.data / "postmaster.pid").exists():
        site.postgres.launch()


def drop_packets(site: Site, name: str) -> bool:
    were_dropped = site.proxies[name].dropping
    site.proxies[name].drop()
    return not were_dropped


def let_packets_through(site: Site, name: str) -> None:
    site.proxies[name].heal()


def reset_connections(site: Site, name: str) -> bool:
    were_open = bool(site.proxies[name].pairs)
    site.proxies[name].reset()
    return were_open


def put_clock_ahead(site: Site, name: str) -> bool:
    return move_clock(site, name, "600")


def put_clock_back(site: Site, name: str) -> bool:
    return move_clock(site, name, "-600")


def move_clock(site: Site, name: str, seconds: str) -> bool:
    clock = site.clocks / name
    moves = clock.read_text() != seconds
    clock.write_text(seconds)
    return moves


def set_clock_right(site: Site, name: str) -> None:
    (site.clocks / name).write_text("0")


def fill_disk(site: Site, name: str) -> bool:
    """To the last byte; where there is no small file system for it, nothing."""
    filler = site.scratch / "filler"
    if not site.can_fill or filler.exists():
        return False
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
    return True


def empty_disk(site: Site, name: str) -> None:
    (site.scratch / "filler").unlink(missing_ok=True)


def kill_redis(site: Site, name: str) -> bool:
    if not redis_runs(site):
        return False
    site.redis.kill()
    return True


def start_redis(site: Site, name: str) -> None:
    if not redis_runs(site):
        site.redis.start()


def redis_runs(site: Site) -> bool:
    return site.redis.process is not None and site.redis.process.poll() is None


def nothing(site: Site, name: str) -> None:
    """It heals by itself."""


FULL_DISK = "scratch full"
CONNECTED = (*WORKERS, "api", "clients", "reaper-1")
FAULTS = {
    "kill -9 of a worker": Fault(kill, start_again, WORKERS, 0.2, 2, weight=4),
    "SIGTERM to a worker": Fault(terminate, start_again, WORKERS, 0.2, 2),
    "worker stopped": Fault(stop, go_on, WORKERS, 0.5, 2.5 * LEASE, weight=4),
    "database sessions cut": Fault(cut_sessions, nothing, ("database",), 0, 0, weight=3),
    "database crashed": Fault(crash_database, start_database, ("database",), 0.1, 3),
    "packets dropped": Fault(drop_packets, let_packets_through, CONNECTED, 0.5, 2 * LEASE, weight=4),
    "connections reset": Fault(reset_connections, nothing, CONNECTED, 0, 0, weight=3),
    "clock put ahead": Fault(put_clock_ahead, set_clock_right, WORKERS, 1, 10, weight=1),
    "clock put back": Fault(put_clock_back, set_clock_right, WORKERS, 1, 10, weight=1),
    FULL_DISK: Fault(fill_disk, empty_disk, ("disk",), 1, 4),
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
    took_effect: set[int] = set()
    agenda: list[tuple[float, int, bool, Step]] = []
    for number, step in enumerate(steps):
        heappush(agenda, (step.at, number, True, step))
    while agenda:
        at, number, begins, step = heappop(agenda)
        time.sleep(max(0.0, began + at - time.monotonic()))
        fault = FAULTS[step.fault]
        if begins:
            since = now()
            if attempt(fault.begin, site, step.target):
                told(step.fault, who=step.target, at=since)
                took_effect.add(number)
            heappush(agenda, (at + step.seconds, number, False, step))
        elif attempt(fault.heal, site, step.target) is not False and number in took_effect:
            told("healed", who=step.target)


def attempt(act: Callable[[Site, str], bool | None], site: Site, target: str) -> bool | None:
    """Faults meet: the database to be crashed may be down already. Whatever is left over, `heal_all` puts right."""
    try:
        return act(site, target)
    except Exception as error:
        print(f"{act.__name__} {target}: {error!r}"[:300], flush=True)
        return False


def heal_all(site: Site) -> None:
    """The server first, for nobody could work without it; processes last, for one that is stopped cannot leave."""
    for fault in sorted(
        FAULTS.values(), key=lambda fault: ("database" not in fault.targets, fault.heal is start_again)
    ):
        for target in fault.targets:
            fault.heal(site, target)
    told("well")
