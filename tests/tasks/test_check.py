"""What is said about an entry of TASKS that cannot work."""

import django
import pytest
from django.core import checks

from jobs.checks import check_tasks_framework
from jobs.tasks.compat import task_backends


def ids_and_texts(settings, **params):
    settings.TASKS = {"default": {"BACKEND": "jobs.tasks_backend.JobyardBackend", **params}}
    return [(type(each), each.id, f"{each.msg} {each.hint}") for each in task_backends["default"].check()]


@pytest.mark.parametrize("params", [{}, {"QUEUES": ["default", "reports"]}, {"QUEUES": []}, {"OPTIONS": {}}])
def test_good_settings_are_fine(settings, params):
    assert ids_and_texts(settings, **params) == []


@pytest.mark.parametrize(
    ("params", "kind", "code", "words"),
    [
        ({"QUEUES": ["default", "no blanks"]}, checks.Error, "jobs.E021", "'no blanks' is not valid"),
        ({"QUEUES": "default"}, checks.Error, "jobs.E021", "must be a list of names. Write ['default']"),
        ({"QUEUES": [1]}, checks.Error, "jobs.E021", "The queue name 1 is not valid"),
        ({"OPTIONS": {"max_attempts": 0}}, checks.Error, "jobs.E022", "max_attempts of 'TASKS' is 0"),
        ({"OPTIONS": {"backoff": "often"}}, checks.Error, "jobs.E022", "'exponential:10:3600'"),
        ({"OPTIONS": {"max_runtime": -1}}, checks.Error, "jobs.E022", "seconds above zero"),
        ({"OPTIONS": {"isolation": "no"}}, checks.Error, "jobs.E022", "'thread' or 'process'"),
        ({"OPTIONS": {"id_function": "uuid.uuid7"}}, checks.Warning, "jobs.W020", "it reads max_attempts, backoff"),
        ({"ENQUEUE_ON_COMMIT": True}, checks.Info, "jobs.I001", "no worker sees it before the commit"),
    ],
)
def test_each_wrong_setting_is_named_with_its_fix(settings, params, kind, code, words):
    ((found, found_code, text),) = ids_and_texts(settings, **params)
    assert (found, found_code) == (kind, code)
    assert words in text


def test_options_must_be_a_dict():
    from jobs.tasks.check_settings import wrong_options

    assert [each.id for each in wrong_options("default", ["max_attempts"])] == ["jobs.E022"]


def test_the_app_must_be_installed(settings):
    settings.INSTALLED_APPS = []
    (problem,) = task_backends["default"].check()
    assert (problem.id, problem.hint) == ("jobs.E020", "Add 'jobs' to INSTALLED_APPS and run `manage.py migrate`.")


def test_without_the_package_s_app_nobody_would_check(settings):
    assert check_tasks_framework() == []
    settings.INSTALLED_APPS = ["jobs"]
    assert [each.id for each in check_tasks_framework()] == ([] if django.VERSION >= (6, 0) else ["jobs.W021"])
    settings.TASKS = {"default": {"BACKEND": "django_tasks.backends.dummy.DummyBackend"}}
    assert check_tasks_framework() == []
