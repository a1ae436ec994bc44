"""Every fault has its id, its promise, and tests that are there; that they ran, `tests.engines` sees to."""

from pathlib import Path

from tests.fault_table import named_by_fault, rows

TESTS = Path(__file__).resolve().parent.parent


def test_ids_are_numbered_without_a_gap():
    assert [number for number, *_ in rows()] == [f"F{number:02}" for number in range(1, len(rows()) + 1)]
    assert len(rows()) >= 40


def is_there(test: str) -> bool:
    file, _, name = test.partition("::")
    return (TESTS / file).is_file() and f"\ndef {name}(" in (TESTS / file).read_text()


def test_every_fault_has_tests_and_they_are_there():
    named = named_by_fault()
    assert all(named.values())
    assert [(number, test) for number, tests in named.items() for test in sorted(tests) if not is_there(test)] == []
