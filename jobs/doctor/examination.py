"""What the doctor's examinations have in common: what they find, and where they are registered."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module

from django.apps import apps
from django.db import DatabaseError
from django.utils.module_loading import module_has_submodule

logger = logging.getLogger("jobs.doctor")


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


def examine_all() -> list[Report]:
    """Ours, then those of the installed apps; one that breaks is a finding itself."""
    for module in OURS:
        import_module(f"jobs.doctor.{module}")
    for app in apps.get_app_configs():
        if module_has_submodule(app.module, "doctor_checks"):
            import_module(f"{app.name}.doctor_checks")
    return [report_of(name, examine) for name, examine in EXAMINATIONS.items()]


def report_of(name: str, examine: Examine) -> Report:
    try:
        return Report(name, list(examine()))
    except DatabaseError as error:
        said = str(error).strip().split("\n", 1)[0]
        return Report(name, [Finding(f"The database did not answer: {said}", "See whether it runs, and DATABASE_URL.")])
    except Exception as error:
        logger.exception("an examination failed name=%s", name)
        return Report(name, [Finding(f"It could not be looked at: {type(error).__name__}: {error}")])
