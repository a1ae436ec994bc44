"""The doctor's round: every examination is made, and what keeps several of them from being made is told once."""

import logging
from collections.abc import Iterator
from dataclasses import replace

from django.db import DatabaseError, connection

from jobs.db import is_unmigrated
from jobs.doctor.examination import Examine, Finding, Report, all_examinations

logger = logging.getLogger("jobs.doctor")

ASK_THE_DATABASE = ("jobs.doctor.database", "jobs.doctor.tables", "jobs.doctor.queue")


def examine_all() -> list[Report]:
    return Round().made(all_examinations())


class Round:
    def __init__(self) -> None:
        self.reports: list[Report] = []
        self.hindered: dict[Finding, list[str]] = {}  # by what hinders them
        self.place = 0  # of the first of them
        self.away: Finding | None = None  # that the database is; to try it again for each could take minutes

    def made(self, examinations: dict[str, Examine]) -> list[Report]:
        for name, examine in examinations.items():
            if self.away and examine.__module__ in ASK_THE_DATABASE:
                self.leave_out(name, self.away)
            else:
                self.make(name, examine)
        if self.hindered:
            self.reports.insert(self.place, Report("database", list(self.obstacles())))
        return self.reports

    def make(self, name: str, examine: Examine) -> None:
        try:
            self.reports.append(report_of(name, examine))
        except DatabaseError as error:
            self.leave_out(name, self.obstacle(error))

    def obstacle(self, error: DatabaseError) -> Finding:
        said = str(error).strip().split("\n", 1)[0].rstrip(".")
        connection.close_if_unusable_or_obsolete()
        if connection.connection is None:
            self.away = self.away or Finding(
                f"The database did not answer: {said}.", "See whether it runs, and DATABASE_URL."
            )
            return self.away
        if is_unmigrated(error):
            return Finding("The database has not all tables of this code.", "Run `manage.py migrate`.")
        return Finding(f"The database could not do it: {said}.")

    def leave_out(self, name: str, obstacle: Finding) -> None:
        if not self.hindered:
            self.place = len(self.reports)
        self.hindered.setdefault(obstacle, []).append(name)

    def obstacles(self) -> Iterator[Finding]:
        for obstacle, names in self.hindered.items():
            yield replace(obstacle, text=f"{obstacle.text} Not looked at: {', '.join(names)}.")


def report_of(name: str, examine: Examine) -> Report:
    """One that breaks is a finding itself; what the database says may be true of others, too."""
    try:
        return Report(name, list(examine()))
    except DatabaseError:
        raise
    except Exception as error:
        logger.exception("an examination failed name=%s", name)
        return Report(name, [Finding(f"It could not be looked at: {type(error).__name__}: {error}")])
