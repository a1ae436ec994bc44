"""How hard a test tries that makes up its examples: a few, the same ones each time; many others under `make soak`."""

import os
from typing import Any

from hypothesis import HealthCheck, Phase, settings

SOAK = os.environ.get("JOBYARD_EXAMPLES")
A_CALL_IS_SLOW = 10  # so many times as slow as a step of tests/contract, whose number of examples it is


def trying(examples: int, **more: Any) -> settings:
    """Examples are not made smaller where one fails: each is a call, or several, and short enough to read."""
    return settings(
        max_examples=max(examples, int(SOAK) // A_CALL_IS_SLOW) if SOAK else examples,
        derandomize=SOAK is None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        **{"deadline": None, **more},
    )
