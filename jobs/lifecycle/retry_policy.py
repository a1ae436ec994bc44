"""Whether a failed attempt is followed by another, and when: one rule for failures and crashes alike. No database."""

import logging
import random
from dataclasses import dataclass

from jobs.conf import conf
from jobs.exceptions import InvalidInput

logger = logging.getLogger("jobs.retry")

STRATEGIES = ("fixed", "linear", "exponential")
LONGEST_WAIT = 10 * 365 * 86_400.0  # no database can add the 1e15 seconds that a handler may ask for


@dataclass(frozen=True)
class Backoff:
    strategy: str
    base: float
    cap: float

    @classmethod
    def default(cls) -> "Backoff":
        return cls(conf.BACKOFF, conf.BACKOFF_BASE, conf.BACKOFF_CAP)

    @classmethod
    def parse(cls, text: str) -> "Backoff":
        """Read `strategy[:base[:cap]]`, seconds each, what is missing being the default; so is empty text."""
        if not text:
            return cls.default()
        strategy, *numbers = text.split(":")
        try:
            seconds = [float(number) for number in numbers]
        except ValueError:
            raise InvalidInput(cls._refusal(text)) from None
        default = cls.default()
        base = seconds[0] if seconds else default.base
        cap = seconds[1] if len(seconds) > 1 else max(default.cap, base)
        if strategy not in STRATEGIES or len(seconds) > 2 or not 0 <= base <= cap < float("inf"):
            raise InvalidInput(cls._refusal(text))
        return cls(strategy, base, cap)

    @classmethod
    def stored(cls, text: str, job_id: int) -> "Backoff":
        """As a row has it: what is not understood there is the default, for it must keep no job from its end."""
        try:
            return cls.parse(text)
        except InvalidInput:
            logger.warning("the backoff of a job is not understood, the default counts job=%s backoff=%r", job_id, text)
            return cls.default()

    @staticmethod
    def _refusal(text: str) -> str:
        return (
            f"The backoff {text!r} is not understood: write fixed, linear or exponential, then the first wait "
            "and the longest one in seconds, as in 'exponential:10:3600'."
        )

    def delay(self, failures: int) -> float:
        """The wait after so many failed attempts, without jitter."""
        if self.strategy == "fixed":
            wait = self.base
        elif self.strategy == "linear":
            wait = self.base * failures
        else:
            wait = self.base * 2.0 ** min(failures - 1, 64)
        return min(wait, self.cap)


@dataclass(frozen=True)
class Decision:
    retry: bool
    delay: float = 0.0


GIVE_UP = Decision(retry=False)


def decide(
    *,
    attempt: int,
    max_attempts: int,
    backoff: Backoff,
    fatal: bool = False,
    retry_after: float | None = None,
    count: bool = True,
) -> Decision:
    """What follows when attempt number `attempt` did not succeed. `max_attempts` counts the first run."""
    if fatal or (count and attempt >= max_attempts):
        return GIVE_UP
    wait = with_jitter(backoff.delay(attempt), backoff.cap) if retry_after is None else retry_after
    return Decision(True, min(wait, LONGEST_WAIT))


def decide_after_crash(*, attempt: int, max_attempts: int, crashes: int, backoff: Backoff) -> Decision:
    """As `decide`; the first crash is most likely the machine's fault, so the job is due again at once."""
    decision = decide(attempt=attempt, max_attempts=max_attempts, backoff=backoff)
    return Decision(True) if decision.retry and crashes == 0 else decision


def with_jitter(delay: float, cap: float) -> float:
    """Spread retries out, so that what failed together does not come back together."""
    return min(delay * (1 + random.uniform(0, conf.BACKOFF_JITTER)), cap)
