"""What children print while a table is on the terminal: heard line by line, and nothing of it reaches the terminal."""

import os
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection

import pytest

from jobs.worker.overheard import LONGEST, Overheard
from tests.concurrency.threads import wait_until
from tests.worker.household import Household


@pytest.fixture
def heard() -> list[str]:
    return []


@pytest.fixture
def overheard(heard: list[str]) -> Overheard:
    return Overheard(heard.append)


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    ends = os.openpty()
    yield ends
    for end in ends:
        os.close(end)


def that_prints(*words: bytes, before: Callable[[], None]) -> Callable[[Connection, int, int], None]:
    def main(connection: Connection, board: int, slots: int) -> None:
        before()
        for word in words:
            os.write(1, word)

    return main


def run_child(main: Callable[[Connection, int, int], None], overheard: Overheard) -> None:
    household = Household(main)
    overheard.start()
    try:
        child = household.child()
        wait_until(lambda: child.pid in household.exit_codes)
    finally:
        overheard.stop()
        household.end()


def test_a_child_s_lines_are_heard_and_not_seen_on_the_terminal(terminal, overheard: Overheard, heard: list[str]):
    def on_a_terminal() -> None:
        os.dup2(terminal[1], 1)
        overheard.in_child()

    run_child(that_prints(b"one\ntw", b"o\n", b"\xff three", before=on_a_terminal), overheard)
    assert heard == ["one", "two", "\ufffd three"]
    os.set_blocking(terminal[0], False)
    with pytest.raises(BlockingIOError):
        os.read(terminal[0], 1)


def test_what_goes_into_a_file_still_does(tmp_path, overheard: Overheard, heard: list[str]):
    file = tmp_path / "out"

    def into_a_file() -> None:
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), 1)
        overheard.in_child()

    run_child(that_prints(b"one\n", before=into_a_file), overheard)
    assert file.read_text() == "one\n"
    assert heard == []


def test_a_line_without_end_does_not_fill_the_memory(terminal, overheard: Overheard, heard: list[str]):
    def on_a_terminal() -> None:
        os.dup2(terminal[1], 1)
        overheard.in_child()

    run_child(that_prints(*[b"x" * 1000] * 200, before=on_a_terminal), overheard)
    assert sum(map(len, heard)) == 200_000
    assert all(len(line) <= 2 * LONGEST for line in heard)
