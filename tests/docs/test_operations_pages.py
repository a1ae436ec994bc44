"""docs/operations/: what it says of the SQL that we send, and of connections, is what the code has."""

import re
from pathlib import Path

import pytest
from django.conf import settings

pytestmark = pytest.mark.once
ROOT = Path(settings.BASE_DIR)
BEYOND = (ROOT / "docs/operations/beyond.md").read_text()
# What each row of the table is about, as the file that it names spells it.
SPELT = {
    "jobs/lifecycle/line.py": ["skip_locked=True, no_key=True"],
    "jobs/lifecycle/sql/insert_jobs.py": ["ON CONFLICT DO NOTHING RETURNING"],
    "jobs/lifecycle/sql/fold.py": ["FOR UPDATE SKIP LOCKED", "DELETE FROM {delta}", "ON CONFLICT"],
    "jobs/models/ready_heads.py": ["WITH RECURSIVE"],
    "jobs/db.py": ["CLOCK_TIMESTAMP()", '"40P01", "40001", "55P03"'],
    "jobs/lifecycle/wake_up.py": ["pg_notify"],
    "jobs/lock_waits.py": ["set_config", "lock_timeout", "enable_seqscan"],
    "jobs/lifecycle/sql/kept.py": ["PREPARE {name}", "EXECUTE {name}"],
    "jobs/lifecycle/sweep.py": ["current_setting(name)"],
    "jobs/lifecycle/complete.py": ["WITH moved AS"],
    "jobs/lifecycle/plain_claim.py": ["WITH RECURSIVE", "moved AS", "locking(ready("],
    "jobs/lifecycle/sql/tallying.py": ["WIDTH_BUCKET"],
    "jobs/selectors/changes.py": ["pg_current_snapshot()", "age("],
    "jobs/selectors/transactions.py": ["pg_stat_activity", "PG_BACKEND_PID()"],
}
# Words of PostgreSQL that another database may not know. A new one belongs into the table.
SPECIAL = re.compile(
    r"pg_\w+\(|SKIP LOCKED|skip_locked=|\bLISTEN \{|ON CONFLICT|lock_timeout|WITH RECURSIVE|ADVISORY", re.I
)


def test_the_table_names_the_files_that_send_it():
    named = set(re.findall(r"`(jobs/[\w/]+\.py)`", BEYOND))
    assert named - {"jobs/selectors/clock.py"} == SPELT.keys()
    missing = [(file, text) for file, texts in SPELT.items() for text in texts if text not in (ROOT / file).read_text()]
    assert missing == []


def test_no_other_word_of_postgresql_is_sent():
    known = {"skip_locked=", "skip locked", "on conflict", "lock_timeout", "with recursive", "listen {"}
    known |= {"pg_notify(", "pg_current_snapshot(", "pg_snapshot_xmin(", "pg_backend_pid("}
    known |= {"pg_terminate_backend(", "pg_reload_conf("}  # advice for people; we do not send it
    sources = [path for path in (ROOT / "jobs").rglob("*.py") if "migrations" not in path.parts]
    found = {word.lower() for path in sources for word in SPECIAL.findall(path.read_text())}
    assert found <= known, "tell it in docs/operations/beyond.md"


def test_our_statements_go_to_the_database_default():
    """So a router cannot split the queue, as the page says; if this fails, the page can promise more."""
    users = [
        path
        for path in (ROOT / "jobs").rglob("*.py")
        if re.search(r"from django\.db import .*\bconnection\b", path.read_text())
    ]
    assert len(users) > 5
    assert "Django's *routers* cannot split the queue" in BEYOND


def test_the_capacities_are_the_figures_of_the_performance_page():
    figures = (ROOT / "docs/performance.md").read_text()
    capacity = (ROOT / "docs/operations/sizing.md").read_text().split("## Capacity")[1]
    measured = re.findall(r"^\| [^|]+ \| ([\d,]+) /s \|", capacity, re.MULTILINE)
    assert len(measured) == 5
    assert [figure for figure in measured if not re.search(rf"\| {figure}(?: /s)? \|", figures)] == []
    named = re.findall(r"`(benchmarks/results/[^`]+)`", capacity)
    assert named
    assert all(name in figures and (ROOT / name).exists() for name in named)
