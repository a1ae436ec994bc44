"""The H.264 level: what a player must be able to decode, from the standard's own limits (table A-1)."""

from fractions import Fraction
from math import ceil

# level, ten times: macroblocks in a frame, macroblocks in a second, kb/s of the High profile
LEVELS = {
    30: (1_620, 40_500, 12_500),
    31: (3_600, 108_000, 17_500),
    32: (5_120, 216_000, 25_000),
    40: (8_192, 245_760, 25_000),
    41: (8_192, 245_760, 62_500),
    42: (8_704, 522_240, 62_500),
    50: (22_080, 589_824, 168_750),
    51: (36_864, 983_040, 300_000),
    52: (36_864, 2_073_600, 300_000),
    60: (139_264, 4_177_920, 300_000),
    62: (139_264, 16_711_680, 1_000_000),
}


def level_for(width: int, height: int, frame_rate: Fraction, maxrate: int) -> int:
    """The lowest one from 3.0 on that holds it, ten times: the one spelling that all encoders take."""
    wide, high = ceil(width / 16), ceil(height / 16)
    blocks = wide * high
    for level, (in_frame, in_second, rate) in LEVELS.items():
        fits = blocks <= in_frame and max(wide, high) ** 2 <= 8 * in_frame  # nor may it be all too narrow
        if fits and blocks * frame_rate <= in_second and maxrate <= rate:
            return level
    return max(LEVELS)
