"""The H.264 level: what a player must be able to decode, from the standard's own limits (table A-1)."""

from fractions import Fraction
from math import ceil

# level: macroblocks in a frame, macroblocks in a second, kb/s of the High profile
LEVELS = {
    "3.0": (1_620, 40_500, 12_500),
    "3.1": (3_600, 108_000, 17_500),
    "3.2": (5_120, 216_000, 25_000),
    "4.0": (8_192, 245_760, 25_000),
    "4.2": (8_704, 522_240, 62_500),
    "5.0": (22_080, 589_824, 168_750),
    "5.1": (36_864, 983_040, 300_000),
    "5.2": (36_864, 2_073_600, 300_000),
    "6.0": (139_264, 4_177_920, 300_000),
    "6.2": (139_264, 16_711_680, 1_000_000),
}


def level_for(width: int, height: int, frame_rate: Fraction, maxrate: int) -> str:
    """The lowest one that holds it."""
    blocks = ceil(width / 16) * ceil(height / 16)
    for level, (in_frame, in_second, rate) in LEVELS.items():
        if blocks <= in_frame and blocks * frame_rate <= in_second and maxrate <= rate:
            return level
    return max(LEVELS)
