"""How much is measured: everything, or enough of it to see within a minute that nothing broke."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """Rows that lie beside, and how many samples are taken."""

    finished: int
    scheduled: int
    elsewhere: int  # pending, in another queue
    waiting: int  # pending, in the same queue
    beside: int  # jobs drained beside all these
    deltas: int
    rounds: int
    claims: int  # per round and side
    stream: int  # jobs of the one long enqueue_many
    drain: int  # jobs per sample
    worker_drain: int  # jobs per sample, by a worker process
    wake_ups: int
    idle_seconds: int
    growth: int  # jobs
    side_rounds: int  # beside other queues
    side_seconds: float  # of enqueueing
    side_share: float  # of the jobs that are drained
    side_wake_ups: int


FULL = Scale(
    finished=1_000_000,
    scheduled=1_000_000,
    elsewhere=1_000_000,
    waiting=1_000_000,
    beside=10_000,
    deltas=100_000,
    rounds=3,
    claims=50,
    stream=100_000,
    drain=5_000,
    worker_drain=20_000,
    wake_ups=300,
    idle_seconds=120,
    growth=100_000,
    side_rounds=5,
    side_seconds=2.0,
    side_share=1.0,
    side_wake_ups=100,
)
QUICK = Scale(
    finished=100_000,
    scheduled=100_000,
    elsewhere=10_000,
    waiting=10_000,
    beside=3_000,
    deltas=20_000,
    rounds=3,
    claims=30,
    stream=10_000,
    drain=1_000,
    worker_drain=2_000,
    wake_ups=50,
    idle_seconds=30,
    growth=5_000,
    side_rounds=1,
    side_seconds=1.0,
    side_share=0.25,
    side_wake_ups=40,
)
