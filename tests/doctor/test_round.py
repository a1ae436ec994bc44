"""The doctor's round where the database is away, not migrated, or refuses something."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from jobs.doctor.examination import Examine, Finding
from jobs.doctor.round import Round
from tests.manage import manage

AWAY = {"postgres": "postgres://nobody@127.0.0.1:9/nothing", "sqlite": "sqlite:////nowhere/at/all.sqlite3"}


def doctor(url: str) -> dict[str, list[str]]:
    """What it found wrong, by examination."""
    done = manage("doctor", "--json", DATABASE_URL=url)
    assert done.returncode == 1
    reports = json.loads(done.stdout)["reports"]
    return {report["name"]: [each["text"] for each in report["findings"]] for report in reports if not report["ok"]}


@pytest.mark.parametrize("engine", AWAY)
def test_that_the_database_is_away_is_said_once_with_what_could_not_be_looked_at(engine):
    wrong = doctor(AWAY[engine])
    assert list(wrong) == ["database"]
    [said] = wrong["database"]
    assert said.startswith("The database did not answer: ")
    assert said.count("did not answer") == 1
    left_out = said.partition("Not looked at: ")[2]
    assert {"clock", "migrations", "indexes", "unknown kinds", "paused queues."} <= set(left_out.split(", "))
    assert "storage" not in left_out


def test_a_database_that_is_not_migrated_is_told_what_to_do(tmp_path: Path):
    wrong = doctor(f"sqlite:///{tmp_path / 'empty.sqlite3'}")
    assert list(wrong) == ["database", "migrations", "indexes"]
    assert wrong["database"] == [
        "The database has not all tables of this code. "
        "Not looked at: heartbeats, expired leases, unknown kinds, unserved queues, paused queues."
    ]
    assert [len(texts) for texts in wrong.values()] == [1, 1, 1]


def asks(sql: str) -> Examine:
    def examine() -> Iterator[Finding]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
        yield from ()

    return examine


@pytest.mark.django_db(transaction=True)
def test_what_the_database_refuses_hinders_no_other_examination():
    reports = Round().made({"fine": asks("SELECT 1"), "odd": asks("SELECT nonsense("), "fine too": asks("SELECT 2")})
    assert [(report.name, report.is_bad) for report in reports] == [
        ("fine", False), ("database", True), ("fine too", False),
    ]  # fmt: skip
    [finding] = reports[1].findings
    assert finding.text.startswith("The database could not do it: ")
    assert finding.text.endswith(" Not looked at: odd.")
