"""One deliberate mistake: which text of which file becomes what, and which tests should turn red."""

from dataclasses import dataclass, field
from pathlib import Path

SQLITE, POSTGRES = "sqlite", "postgres"


class DoesNotApply(Exception):
    """The code has changed: the text to be mutated is not there exactly once."""


@dataclass(frozen=True)
class Edit:
    file: str
    old: str
    new: str

    def apply(self, tree: Path) -> None:
        path = tree / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise DoesNotApply(f"{self.file} has {text.count(self.old)} times: {self.old!r}")
        path.write_text(text.replace(self.old, self.new))


@dataclass(frozen=True)
class Mutant:
    """`also` holds further edits, where two guards stand behind each other and either one suffices."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    engine: str = SQLITE
    also: tuple[Edit, ...] = field(default=())

    def apply(self, tree: Path) -> None:
        for edit in (Edit(self.file, self.old, self.new), *self.also):
            edit.apply(tree)


def lifecycle(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/lifecycle/test_{name}.py" for name in names)


def races(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/concurrency/test_{name}.py" for name in names)
