"""The short public names, and that `import jobs` touches no model and needs no settings."""

import os
import subprocess
import sys
from importlib import import_module

import pytest

import jobs

NAMES = [
    "Batch", "Fatal", "NewJob", "RetryLater", "Spawn", "WaitFor", "batch", "enqueue", "enqueue_many", "handler",
    "periodic", "pipeline",
]  # fmt: skip


def in_a_fresh_interpreter(program: str) -> str:
    without_settings = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=without_settings, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_jobs_touches_no_model_and_not_even_django():
    loaded = in_a_fresh_interpreter("import sys, jobs; print(*sys.modules)").split()
    assert "jobs" in loaded
    assert [name for name in loaded if name.startswith(("django", "jobs."))] == []


def test_handlers_can_be_registered_without_settings_or_models():
    program = """
import sys
from jobs import Fatal, RetryLater, handler, pipeline

@handler("reports.build")
def build(ctx, month):
    raise Fatal("no such month") if month > 12 else RetryLater(5)

@pipeline("reports.long").phase("first")
def first(ctx):
    pass

print(*sys.modules)
"""
    loaded = in_a_fresh_interpreter(program).split()
    assert [name for name in loaded if name.startswith(("jobs.models", "jobs.lifecycle", "django.db.models"))] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there(name):
    assert name in jobs.__all__
    assert getattr(jobs, name) is getattr(import_module(jobs.HOMES[name]), name)


def test_there_are_no_other_public_names():
    assert sorted(jobs.__all__) == NAMES
    with pytest.raises(AttributeError, match="module 'jobs' has no attribute 'dequeue'"):
        _ = jobs.dequeue
