"""What the doctor's examinations have in common: what they find, and where they are registered."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module

from django.apps import apps
from django.utils.module_loading import module_has_submodule


class Level(StrEnum):
    WRONG = "wrong"  # something does not work, or will not: the exit code is 1
    ADVICE = "advice"  # it works, and could be better


@dataclass(frozen=True)
class Finding:
    """What is not as it should be, and what repairs it."""

    text: str
    fix: str = ""
    level: Level = Level.WRONG


Examine = Callable[[], Iterator[Finding]]


@dataclass(frozen=True)
class Report:
    name: str
    findings: list[Finding]

    @property
    def is_bad(self) -> bool:
        return any(finding.level == Level.WRONG for finding in self.findings)


EXAMINATIONS: dict[str, Examine] = {}
OURS = ("settings", "database", "tables", "queue", "machine")


def examination(name: str) -> Callable[[Examine], Examine]:
    """Registers a function that yields what it finds."""

    def register(examine: Examine) -> Examine:
        EXAMINATIONS[name] = examine
        return examine

    return register


def all_examinations() -> dict[str, Examine]:
    """Ours, then those of the installed apps."""
    for module in OURS:
        import_module(f"jobs.doctor.{module}")
    for app in apps.get_app_configs():
        if module_has_submodule(app.module, "doctor_checks"):
            import_module(f"{app.name}.doctor_checks")
    return EXAMINATIONS
