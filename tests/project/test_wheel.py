"""The wheel, installed into a fresh Django project: migrate, run a job, open the admin, test with the helpers."""

import os
import site
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest
from django.conf import settings

pytestmark = pytest.mark.once

ROOT = Path(settings.BASE_DIR)

SETTINGS = """
INSTALLED_APPS += ["jobs", "shop"]
DATABASES["default"]["OPTIONS"] = {"transaction_mode": "IMMEDIATE", "timeout": 20}
"""

HANDLERS = """
from jobs import handler


@handler("shop.greet")
def greet(ctx, name):
    ctx.progress(50, "thinking")
    return f"Hello, {name}!"
"""

TESTS = """
from jobs import enqueue


def test_a_greeting(jobyard):
    enqueue("shop.greet", {"name": "Ada"})
    jobyard.assert_enqueued("shop.greet", {"name": "Ada"})
    assert [job.result for job in jobyard.drain()] == ["Hello, Ada!"]
"""

LOOK = """
import django

django.setup()

from django.contrib import admin
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse

import jobs
from jobs.models import Job

job = Job.objects.get()
print(jobs.__file__, job.status, job.result, sep="\\n")
client = Client(HTTP_HOST="localhost")
client.force_login(User.objects.create_superuser("root"))
pages = [reverse(f"admin:jobs_{model._meta.model_name}_changelist")
         for model in admin.site._registry if model._meta.app_label == "jobs"]
for page in ["/admin/", *pages, reverse("admin:jobs_job_change", args=[job.pk])]:
    answer = client.get(page, follow=True)
    print(page, answer.status_code, "shop.greet" in answer.content.decode(), "Jobyard" in answer.content.decode())
assert finders.find("jobs/admin.css"), "the static files are not there"
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Built from a copy, as an installation from the folder would: nothing is left behind in it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    copytree(ROOT / "jobs", source / "jobs", ignore=ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_text((ROOT / name).read_text())
    build = f"from setuptools import build_meta; build_meta.build_wheel({str(target)!r})"
    run(sys.executable, "-c", build, cwd=source)
    [built] = target.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def project(wheel, tmp_path_factory) -> Path:
    """A new project in an environment of its own. What Jobyard needs is lent to it; Jobyard itself is not."""
    folder = tmp_path_factory.mktemp("project")
    venv.create(folder / "env", with_pip=False)
    [packages] = (folder / "env").glob("lib/python*/site-packages")
    lent = [path for path in sys.path if Path(path).name == "site-packages"] or site.getsitepackages()
    (packages / "lent.pth").write_text("\n".join(lent))
    run(sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python", str(folder / "env"), "install",
        "--no-deps", "--no-index", str(wheel))  # fmt: skip
    run(folder / "env/bin/python", "-m", "django", "startproject", "shop", ".", cwd=folder)
    with (folder / "shop/settings.py").open("a") as file:
        file.write(SETTINGS)
    (folder / "shop/job_handlers.py").write_text(HANDLERS)
    (folder / "test_shop.py").write_text(TESTS)
    return folder


def run(*command: object, cwd: Path | None = None) -> str:
    """What it says; with an environment that knows nothing of this project."""
    ours = ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "PYTHONPATH", "DEBUG", "SECRET_KEY")
    environment = {name: value for name, value in os.environ.items() if name not in ours and "JOBS_" not in name}
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_wheel_has_every_file_that_is_not_python_and_no_test(wheel):
    there = set(zipfile.ZipFile(wheel).namelist())
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "jobs").rglob("*") if path.is_file()]
    needed = {name for name in files if "__pycache__" not in name}
    assert any(name.endswith(".html") for name in needed)
    assert needed - there == set()
    assert {name.split("/")[0] for name in there if ".dist-info/" not in name} == {"jobs"}


def test_it_works_in_a_fresh_project(project):
    python = project / "env/bin/python"
    run(python, "manage.py", "migrate", "--verbosity", "0", cwd=project)
    run(python, "manage.py", "enqueue", "shop.greet", "name=you", cwd=project)
    run(python, "manage.py", "runworker", "--until-empty", "--processes", "1", cwd=project)
    (project / "look.py").write_text(f'import os\nos.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"\n{LOOK}')
    place, status, result, *pages = run(python, "look.py", cwd=project).splitlines()
    assert Path(place).is_relative_to(project / "env")
    assert (status, result) == ("completed", "Hello, you!")
    answers = {page: rest for page, *rest in map(str.split, pages)}
    assert [answer for answer in answers.values() if answer[0] != "200"] == []
    assert answers["/admin/jobs/job/"] == ["200", "True", "True"]
    assert {"/admin/jobs/queue/", "/admin/jobs/worker/", "/admin/jobs/job/1/change/"} <= answers.keys()


def test_its_tests_find_the_fixture(project):
    run(project / "env/bin/python", "-m", "pytest", "-q", "--ds=shop.settings", "-p", "no:cacheprovider", cwd=project)
