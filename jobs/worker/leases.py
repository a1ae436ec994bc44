"""When an exclusive job must stop: nobody else may have it while it runs, not even if nobody could tell it so."""

import time

from jobs.handlers.base import ClaimedJob

CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # the first is Linux's, and only there are workers
SHARE_OF_LEASE = 0.25
LONGEST_MARGIN = 10.0


def lease_clock() -> float:
    """Seconds, the same in all processes of the machine. It goes on while that is suspended: so do leases."""
    return time.clock_gettime(CLOCK)


def margin(job: ClaimedJob) -> float:
    """Seconds before the end of its lease: time enough to stop a handler, by force if need be."""
    return min(SHARE_OF_LEASE * job.lease.total_seconds(), LONGEST_MARGIN)


def patience(job: ClaimedJob, usual: float) -> float:
    """Seconds between its interruption and the end of its process: over before the lease is."""
    return min(usual, margin(job) - last_moment(job))


def last_moment(job: ClaimedJob) -> float:
    """Seconds before the end of its lease: a handler that does not stop by then is ended with its process."""
    return margin(job) / 4
