"""What the command line accepts as a number, an id, a duration: each refusal is one clear sentence."""

import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import timedelta

from jobs.duration_text import parse_duration
from jobs.sanitise import printable

LARGEST_ID = 2**63 - 1
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")
SHOWN = 60


def whole_number(low: int, high: int, what: str = "a whole number") -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if WHOLE_NUMBER.fullmatch(text) else None
        if number is None or not low <= number <= high:
            raise ArgumentTypeError(f"{shown(text)} is not {what} from {low} to {high}")
        return number

    return parse


job_id = whole_number(1, LARGEST_ID, "a job's id: a whole number")


def duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from None


def interval(text: str) -> float:
    """Seconds between two rounds."""
    seconds = duration(text).total_seconds()
    if not 0.1 <= seconds <= 86_400:
        raise ArgumentTypeError(f"{shown(text)} is not an interval from 0.1 seconds to a day")
    return seconds


def not_empty(text: str) -> str:
    """An empty value is most likely a variable that was not set: it must not select what nobody meant."""
    if not text:
        raise ArgumentTypeError("the value is empty; leave the option out instead")
    return text


def shown(text: str) -> str:
    return repr(printable(text, SHOWN))
