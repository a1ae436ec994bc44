"""The Python examples of the docs run as they stand, and their handlers do what the page says."""

import logging
import logging.config
import re
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.conf import settings
from django.core.management import call_command

from jobs import enqueue
from jobs.handlers.context import Context
from jobs.handlers.kind_options import CHECKS
from jobs.handlers.periodic import TERMS, declarations
from jobs.handlers.registry import registry
from jobs.models import Job, PeriodicJob
from jobs.states import Status

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(settings.BASE_DIR)
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w/]+)\.py\n")  # the first line of an example that is a file of its own
PAGES = (
    "README.md",
    "docs/quickstart.md",
    "docs/handlers.md",
    "docs/periodic.md",
    "docs/workflows.md",
    "docs/developers.md",
    "docs/testing.md",
    "docs/recipes.md",
)


def run_examples(page: str) -> dict[str, Any]:
    """All names of the page. An example that names its file is a module: it sees only what it imports."""
    names: dict[str, Any] = {}
    examples = PYTHON.findall((ROOT / page).read_text())
    assert examples, f"{page} has no example"
    for example in examples:
        if (file := FILE.match(example)) is None:
            exec(compile(example, page, "exec"), names)
            continue
        module = ModuleType(file[1].replace("/", "."))
        module.__file__ = page
        sys.modules[module.__name__] = module
        exec(compile(example, page, "exec"), module.__dict__)
        names |= vars(module)
    return names


@pytest.fixture(autouse=True)
def _kinds_of_the_examples() -> Iterator[None]:
    before, declared = {kind.name for kind in registry}, {each.name for each in declarations}
    yield
    for name in {each.name for each in declarations} - declared:
        declarations.remove(name)
    for name in {kind.name for kind in registry} - before:
        registry.remove(name)
    for name in [name for name, module in sys.modules.items() if getattr(module, "__file__", None) in PAGES]:
        del sys.modules[name]


def worked(kind: str, **payload: Any) -> Job:
    """The job after a worker had it."""
    job_id = enqueue(kind, payload).job_id
    call_command("runworker", until_empty=True, name="docs")
    return Job.objects.get(pk=job_id)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_run(page):
    run_examples(page)


def test_the_readme_s_job_is_done_by_a_worker():
    run_examples("README.md")
    call_command("runworker", until_empty=True, name="docs")
    job = Job.objects.get()
    assert (job.status, job.result) == (Status.COMPLETED, {"month": 5, "days": 28})


def test_a_fatal_error_is_not_retried():
    run_examples("README.md")
    job = worked("reports.build", month=13)
    assert (job.status, job.attempt) == (Status.FAILED, 1)
    assert "There is no month 13." in job.last_error


def test_retry_later_keeps_the_attempt():
    run_examples("docs/handlers.md")
    job = worked("feeds.fetch", url="https://example.org/")
    assert (job.status, job.hold, job.attempt) == (Status.PENDING, "scheduled", 0)
    assert 48 < (job.run_after - job.enqueued_at).total_seconds() / 3600 < 50


def test_the_pipeline_passes_results_on():
    run_examples("docs/handlers.md")
    job = worked("books.print", title="Dune")
    assert job.result == {"title": "Dune", "chapters": 3}
    assert [(phase.name, phase.status) for phase in job.phases.all()] == [
        ("collect", "completed"),
        ("typeset", "completed"),
        ("bind", "completed"),
    ]


def test_qualities_are_reported_one_by_one():
    run_examples("docs/handlers.md")
    job = worked("clips.render", heights=[720, 2160])
    shown = {quality.name: (quality.status, quality.segments_completed) for quality in job.qualities.all()}
    assert shown == {"720p": ("completed", 4), "2160p": ("skipped", 0)}


def test_the_long_job_leaves_a_checkpoint():
    run_examples("docs/handlers.md")
    job = worked("imports.run", rows=250)
    assert (job.result, job.checkpoint) == ({"rows": 250}, {"done": 200})


def test_what_was_fetched_before_a_retry_is_kept_and_the_folders_are_removed_at_the_end(settings, tmp_path):
    settings.JOBS_WORK_DIR = str(tmp_path / "work")
    run_examples("docs/handlers.md")
    job = worked("archives.fetch", parts=4)
    assert job.result == ["fetched by attempt 1"] * 2 + ["fetched by attempt 2"] * 2
    assert [path for path in (tmp_path / "work").rglob("*") if "part" in path.name or "half" in path.name] == []


FFMPEG = """#!/bin/sh
printf 'out_time_us=N/A\\nout_time_us=2500000\\nprogress=end\\n'
for last; do :; done
printf 12345 > "$last"
"""


def test_a_program_s_lines_move_the_progress(settings, tmp_path):
    settings.JOBS_WORK_DIR = str(tmp_path / "work")
    ffmpeg = tmp_path / "ffmpeg"
    ffmpeg.write_text(FFMPEG)
    ffmpeg.chmod(0o700)
    run_examples("docs/handlers.md")
    job = worked("clips.encode", source="in.mp4", seconds=10, ffmpeg=str(ffmpeg))
    assert (job.status, job.result, job.step) == (Status.COMPLETED, {"bytes": 5}, "encoding")


def test_a_program_that_is_not_installed_is_an_error_that_says_so(settings, tmp_path):
    settings.JOBS_WORK_DIR = str(tmp_path / "work")
    run_examples("docs/handlers.md")
    job = worked("clips.encode", source="in.mp4", seconds=10, ffmpeg="ffmpeg-of-nobody")
    assert "The program 'ffmpeg-of-nobody' could not be started" in job.last_error


def test_an_async_handler_may_use_the_orm_and_run_programs():
    run_examples("docs/handlers.md")
    job = worked("links.check", links=["https://example.org", "gopher://example.org"])
    assert (job.status, job.last_error) == (Status.COMPLETED, "")
    assert job.result == {"good": 1, "said": "hello", "jobs": 1}


def test_the_log_is_as_the_page_shows_it(capfd):
    before = logging.root.handlers[:], logging.root.level
    logging.config.dictConfig(run_examples("docs/handlers.md")["LOGGING"])
    try:
        job = worked("mails.send", to="a@example.org")
    finally:
        logging.root.handlers[:], logging.root.level = before
    [line] = [line for line in capfd.readouterr().err.splitlines() if "sending to" in line]
    [shown] = re.findall(r"^time=.*$", (ROOT / "docs/handlers.md").read_text(), re.MULTILINE)
    assert job.status == Status.COMPLETED
    changing = [(r"time=\S+", "time="), (r"job=\d+", "job="), (r"worker=\S+", "worker=")]
    for pattern, instead in changing:
        line, shown = re.sub(pattern, instead, line), re.sub(pattern, instead, shown)
    assert line == shown


def test_every_option_and_every_word_of_the_context_is_on_the_page():
    page = (ROOT / "docs/handlers.md").read_text()
    named = set(re.findall(r"`(\w+)(?:\([^`]*\))?`", page))
    assert CHECKS.keys() <= named
    words = {name for name in dir(Context) if not name.startswith("_")} | {"logger"}
    of_the_worker = {"call", "plan_phases", "start_phase", "end_phase", "remove_scratch"}
    assert words - of_the_worker <= named


def test_what_the_page_declares_is_stored_and_every_option_is_on_it():
    run_examples("docs/periodic.md")
    call_command("run_periodic", stdout=StringIO())
    rows = {row.name: row for row in PeriodicJob.objects.all()}
    assert {name: row.schedule for name, row in rows.items()} == {
        "reports.build": "0 3 * * *",
        "reports.hourly": "@hourly",
        "feeds.poll": "every 1m30s",
        "books.weekly": "0 6 * * MON",
    }
    page = (ROOT / "docs/periodic.md").read_text()
    assert {*TERMS, "name", "every"} <= set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))


def test_what_must_happen_once_is_named_by_the_job():
    run_examples("docs/handlers.md")
    job = worked("cards.charge", order=7, cents=1200)
    assert job.result == {"order": 7, "cents": 1200}


def test_the_hook_runs_when_the_job_is_completed():
    names = run_examples("docs/handlers.md")
    worked("pages.build", page="home")
    assert names["published"] == ["home"]


def test_the_workflows_of_the_page_come_to_their_ends():
    names = run_examples("docs/workflows.md")
    counted = enqueue("films.count", {"chapters": ["a b", "c d e"]}).job_id
    call_command("runworker", until_empty=True, name="docs")
    result = dict(Job.objects.values_list("pk", "result"))
    assert (result[names["book"].job_id], result[counted]) == ("Dune", 5)
    assert result[names["album"].job_id] == "holidays: 20 of 20"
    assert names["how_far"].total == 20
