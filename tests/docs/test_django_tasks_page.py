"""The examples of the page on Django's tasks run as they stand, and a worker does what they ask for."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import pytest
from django.conf import settings as project_settings
from django.core.management import call_command

from jobs.models import Job
from jobs.tasks.check_settings import problems_of_settings
from jobs.tasks.task import QueueOptions

PAGE = (Path(project_settings.BASE_DIR) / "docs/django-tasks.md").read_text()
FRAMEWORK = "django.tasks" if django.VERSION >= (6, 0) else "django_tasks"
BLOCKS = [
    (place, code.replace("django.tasks", FRAMEWORK))
    for place, code in re.findall(r"^```python\n# ([^\n]+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
]
MODULES = ("reports/tasks.py", "reports/more.py")


@pytest.fixture
def _reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The app of the examples."""
    (tmp_path / "reports").mkdir()
    for place, code in BLOCKS:
        if place in MODULES:
            (tmp_path / place).write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "reports"]:
        del sys.modules[name]


@pytest.mark.usefixtures("_reports")
@pytest.mark.django_db(transaction=True)
def test_the_tasks_of_the_page_are_run_by_a_worker(capsys):
    names: dict[str, Any] = {}
    run = [code for place, code in BLOCKS if place == "anywhere"]
    for code in run:
        exec(code, names)
    assert Job.objects.count() == 4
    call_command("runworker", until_empty=True, name="docs")
    exec(next(code for place, code in BLOCKS if place == "another request, another day"), names)
    assert str(names["same"].return_value) in capsys.readouterr().out
    names["first"].refresh()
    assert names["first"].return_value == 1
    assert list(Job.objects.order_by("id").values_list("subject", "status", "result")) == [
        ("reports.tasks.build", "completed", {"month": 5, "days": 28}),
        ("reports.tasks.remind", "completed", "Anna, attempt 1"),
        ("reports.more.fetch", "completed", 1),
        ("reports.more.fetch", "pending", None),
    ]


def test_the_settings_of_the_page_are_good_ones():
    blocks = [code for place, code in BLOCKS if place == "settings.py"]
    assert len(blocks) == 2
    for code in blocks:
        names: dict[str, Any] = {"INSTALLED_APPS": []}
        exec(code, names)
        for alias, params in names["TASKS"].items():
            assert params["BACKEND"] == "jobs.tasks_backend.JobyardBackend"
            assert list(problems_of_settings(alias, params)) == []


def test_every_option_and_every_message_of_the_check_is_on_the_page():
    assert {option for option in QueueOptions.__annotations__ if f"`{option}`" not in PAGE} == set()
    source = (Path(project_settings.BASE_DIR) / "jobs/tasks/check_settings.py").read_text()
    assert {code for code in re.findall(r"jobs\.[EWI]\d+", source) if f"`{code}`" not in PAGE} == set()
