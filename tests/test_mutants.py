"""The mutants apply to the code as it is: one that does not says nothing of its guard, until somebody runs them all."""

from collections.abc import Iterator
from functools import cache

from tests.mutants.__main__ import ALL
from tests.mutants.mutant import Edit
from tests.mutants.run import ROOT


def edits() -> Iterator[tuple[str, Edit]]:
    for mutant in ALL:
        for edit in (Edit(mutant.file, mutant.old, mutant.new), *mutant.also):
            yield mutant.name, edit


@cache
def text_of(file: str) -> str:
    path = ROOT / file
    return path.read_text() if path.is_file() else ""


def test_what_each_of_them_changes_is_there_once():
    found = {(name, edit.file, edit.old): text_of(edit.file).count(edit.old) for name, edit in edits()}
    assert {what: number for what, number in found.items() if number != 1} == {}


def test_each_of_them_changes_something():
    assert [name for name, edit in edits() if edit.old == edit.new] == []


def is_there(test: str) -> bool:
    """A folder, a file, or a function of one."""
    file, _, name = test.partition("::")
    return (ROOT / file).exists() and (not name or f"def {name}(" in text_of(file))


def test_the_tests_that_should_notice_are_there():
    assert [(mutant.name, test) for mutant in ALL for test in mutant.tests if not is_there(test)] == []
