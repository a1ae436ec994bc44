"""`manage.py doctor`: is all as it should be?"""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from jobs.doctor.examination import Finding, Level, Report
from jobs.doctor.round import examine_all
from jobs.management.base import FAILED, JobyardCommand
from jobs.management.text import counted
from jobs.sanitise import clean_error, printable

LONGEST = 1000


class Command(JobyardCommand):
    help = """Examine settings, database, tables, queue and this machine; say what is wrong, and what repairs it.

It changes nothing. Run it on each machine: the web server's, and those of the workers. The exit code is 1 if
something is wrong; advice alone leaves it 0."""
    examples = """  manage.py doctor
  manage.py doctor --json"""
    requires_system_checks = []  # what they say is among what it says

    def handle(self, *args: Any, **options: Any) -> None:
        reports = examine_all()
        document = {"ok": not any(each.is_bad for each in reports), "reports": [document_of(each) for each in reports]}
        self.answer(document, *(line for report in reports for line in lines(report)))
        bad = sum(report.is_bad for report in reports)
        if bad:
            raise CommandError(f"{counted(bad, 'examination')} found something wrong.", returncode=FAILED)


def document_of(report: Report) -> dict[str, Any]:
    return {"name": report.name, "ok": not report.is_bad, "findings": [asdict(safe(each)) for each in report.findings]}


def lines(report: Report) -> list[str]:
    if not report.findings:
        return [f"ok      {report.name}"]
    told = []
    for finding in map(safe, report.findings):
        told.append(f"{finding.level.upper():<7} {report.name}: {finding.text}")
        if finding.fix:
            told.append(f"        → {finding.fix}")
    return told


def safe(finding: Finding) -> Finding:
    """No secret of the environment, and nothing that steers a terminal."""
    text, fix = (printable(clean_error(each, LONGEST)) for each in (finding.text, finding.fix))
    return Finding(text, fix, Level(finding.level))
