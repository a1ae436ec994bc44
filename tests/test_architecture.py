"""Rules about the code itself: who may write, and how long a file or a function may get."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

ROOT = Path(settings.BASE_DIR)
MAX_FILE, MAX_FUNCTION = 300, 45

# Every method of a model, a manager or a queryset that writes. Whoever has a row at hand could call one, so the rule
# asks for no types: outside jobs/lifecycle nobody calls a method of these names at all, on anything.
WRITES = {
    "save", "asave", "delete", "adelete", "_raw_delete", "update", "aupdate", "create", "acreate", "bulk_create",
    "abulk_create", "bulk_update", "abulk_update", "get_or_create", "aget_or_create", "update_or_create",
    "aupdate_or_create", "save_base", "raw",
}  # fmt: skip
SQL_WRITE = re.compile(r"\s*(INSERT\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|TRUNCATE|MERGE\s+INTO)\b", re.IGNORECASE)

# Who writes rows, and which: the queue's verbs all of the queue's, the videos' verbs videos and nothing of a job. They
# are told by the name that a call begins with, so a row of a video is called `video` there.
WRITERS = {
    "jobs/lifecycle/": None,
    "jobs/videos/lifecycle/": {"Video", "VideoQuality", "video"},
    "project/login/limits.py": {"LoginAttempt", "attempt"},
}

# What else is called so, and has nothing to do with rows.
NOT_ROWS = {
    ("jobs/admin/log.py", "LogEntry.objects.bulk_create"): "the log of Django's admin",
    ("jobs/doctor/machine.py", "default_storage.delete"): "a file",
    ("jobs/doctor/machine.py", "default_storage.save"): "a file",
    ("jobs/handlers/files.py", "self.storage.delete"): "a file",
    ("jobs/handlers/files.py", "self.storage.save"): "a file",
    ("jobs/api/worker/files/outputs.py", "self._digest.update"): "a checksum",
    ("jobs/api/worker/files/sources.py", "cache.delete"): "a note in the cache",
    ("jobs/uploads/receiving.py", "digest.update"): "a checksum",
    ("jobs/uploads/receiving.py", "self.storage.delete"): "a file",
    ("jobs/uploads/receiving.py", "self.storage.save"): "a file",
    ("jobs/videos/management/bars.py", "self._live.update"): "what stands on the terminal",
    ("jobs/videos/source_file.py", "digest.update"): "a checksum",
    ("jobs/videos/source_file.py", "storage.save"): "a file",
    ("jobs/videos/stored.py", "storage.delete"): "a file",
    ("jobs/worker/ledger.py", "self._renewed_at.update"): "a dict of claims",
    ("project/demo/job_handlers.py", "digest.update"): "a checksum",
    ("project/settings.py", "DATABASES['default'].setdefault('OPTIONS', {}).update"): "a dict of options",
}


def sources() -> list[Path]:
    files = [path for folder in ("jobs", "project") for path in (ROOT / folder).rglob("*.py")]
    return [path for path in files if "migrations" not in path.parts]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def written_outside_lifecycle() -> Iterator[tuple[str, str, int]]:
    for path in sources():
        for called, line in not_theirs(name_of(path), ast.parse(path.read_text())):
            yield name_of(path), called, line


def not_theirs(file: str, tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The writes of a file that are not of rows it may write."""
    folder = next((folder for folder in WRITERS if file.startswith(folder)), "")
    theirs = WRITERS.get(folder, set())
    for called, line in writes_in(tree):
        if theirs is not None and first_name(called) not in theirs:
            yield called, line


def writes_in(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in WRITES:
            yield ast.unparse(node), node.lineno
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and SQL_WRITE.match(node.value):
            yield node.value.strip()[:60], node.lineno


def first_name(called: str) -> str:
    """`Video` of `Video.objects.filter(…).update`; of SQL, its first word."""
    return re.split(r"\W", called, maxsplit=1)[0]


def test_only_lifecycle_writes_rows():
    strangers = [
        f"{file}:{line} {called}"
        for file, called, line in written_outside_lifecycle()
        if (file, called) not in NOT_ROWS
    ]
    assert not strangers, "rows are written by jobs/lifecycle alone; add a verb there, or say why it is no row"


def test_every_exception_to_the_rule_is_still_needed():
    found = {(file, called) for file, called, _ in written_outside_lifecycle()}
    assert NOT_ROWS.keys() <= found


@pytest.mark.parametrize(
    "source",
    [
        "job.save()",
        "Job.objects.filter(pk=1).update(status='failed')",
        "chosen.delete()",
        "write = jobs.bulk_update",
        "cursor.execute('UPDATE jobs_job SET status = 1')",
        "cursor.execute('''\n  delete from jobs_job''')",
        "cursor.execute(f'INSERT INTO {table} VALUES (1)')",
    ],
)
def test_the_rule_sees_a_write(source):
    assert list(writes_in(ast.parse(source)))
    for file in ("jobs/admin/job.py", "jobs/videos/admin.py", "jobs/videos/lifecycle/publish.py"):
        assert list(not_theirs(file, ast.parse(source)))
    assert not list(not_theirs("jobs/lifecycle/claim.py", ast.parse(source)))


@pytest.mark.parametrize("source", ["video.delete()", "Video.objects.filter(pk=1).update(version='x')"])
def test_the_verbs_of_videos_write_videos_and_nobody_else_does(source):
    assert not list(not_theirs("jobs/videos/lifecycle/publish.py", ast.parse(source)))
    assert list(not_theirs("jobs/videos/views/pages.py", ast.parse(source)))


def limits_in(tree: ast.Module) -> Iterator[str]:
    """The names of limits that a module sets: `MAX_CLAIM = 1000`."""
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            yield from (name.id for name in names if isinstance(name, ast.Name) and name.id.startswith("MAX_"))


def test_a_limit_is_set_in_one_place():
    """Of two that must agree, one would be changed some day."""
    limits = Counter(name for path in sources() for name in limits_in(ast.parse(path.read_text())))
    assert limits["MAX_CLAIM"] == 1
    assert [name for name, places in limits.items() if places > 1] == []


def test_files_are_short():
    lengths = {name_of(path): len(path.read_text().splitlines()) for path in sources()}
    assert not {name: length for name, length in lengths.items() if length > MAX_FILE}


def test_functions_are_short():
    lengths = {
        f"{name_of(path)}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert lengths
    assert not {name: length for name, length in lengths.items() if length > MAX_FUNCTION}
