"""Wrong use of any command: exit code 2 and one sentence; and a help that teaches."""

import shlex
from importlib import import_module
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from jobs.models import Job
from jobs.states import Status
from tests.commands.calls import refused, run_json
from tests.factories import job_in, make_job

CHOOSING = {"retry_jobs": [], "cancel_jobs": [], "clear_jobs": ["--yes"], "set_priority": ["5"]}
OURS = sorted(name for name, app in get_commands().items() if app == "jobs" and name != "runworker")


def test_every_file_of_the_folder_is_a_command():
    folder = Path(settings.BASE_DIR) / "jobs" / "management" / "commands"
    files = {path.stem for path in folder.glob("*.py")} - {"__init__", "runworker"}
    assert files == set(OURS)


@pytest.mark.parametrize("name", OURS)
def test_the_help_teaches(name):
    command = load_command_class("jobs", name)
    parser = command.create_parser("manage.py", name)
    text = parser.format_help()
    assert command.help in text
    examples = text.partition("\nexamples:\n")[2].splitlines()
    assert len(examples) >= 2
    assert all(line.startswith(f"  manage.py {name}") for line in examples)
    assert all(action.help for action in parser._actions)
    assert "--json" in text


@pytest.mark.parametrize("name", OURS)
def test_the_examples_of_the_help_are_right_use(name):
    parser = load_command_class("jobs", name).create_parser("manage.py", name)
    for line in parser.format_help().partition("\nexamples:\n")[2].splitlines():
        words = shlex.split(line.partition(" < ")[0])
        parser.parse_args(words[2:])  # a refusal is an error


@pytest.mark.parametrize("name", OURS)
def test_the_module_says_what_it_is_for(name):
    module = import_module(f"jobs.management.commands.{name}")
    assert (module.__doc__ or "").startswith(f"`manage.py {name}`: ")


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "more"), CHOOSING.items())
def test_without_a_choice_of_jobs_nothing_is_done(name, more):
    make_job()
    job_in(Status.FAILED, queue="media")
    before = list(Job.objects.order_by("pk").values())
    refusal = refused(name, *more)
    assert refusal.code == 2
    assert "give their ids, or a filter" in refusal.sentence
    assert list(Job.objects.order_by("pk").values()) == before


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "more"), CHOOSING.items())
@pytest.mark.parametrize(
    "arguments",
    [
        ["0"], ["-1"], ["1.5"], ["abc"], [""], ["²"], [str(2**63)], ["9" * 5000], ["--queue", ""], ["--queue", "a b"],
        ["--scope", ""], ["--kind", "\x00"], ["--older-than", "soon"], ["--status", "nonsense"], ["--frobnicate"],
        ["--older-than", "nan"], ["1", "--reason=\x00"],
    ],
)  # fmt: skip
def test_a_wrong_choice_is_refused_and_nothing_is_done(name, more, arguments):
    make_job()
    job_in(Status.FAILED, queue="media")
    before = list(Job.objects.order_by("pk").values())
    assert refused(name, *more, *arguments).code == 2
    assert list(Job.objects.order_by("pk").values()) == before


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "more"), CHOOSING.items())
def test_the_largest_id_there_can_be_is_merely_not_there(name, more):
    refusal = refused(name, *more, 2**63 - 1, "--json")
    assert refusal.code == 1
    assert refusal.sentence == "Job 9223372036854775807 was left alone."


@pytest.mark.django_db
def test_ids_and_options_come_in_any_order():
    first, second = make_job(), make_job()
    assert run_json("cancel_jobs", first.pk, "--reason", "x", second.pk)["cancelled"] == [first.pk, second.pk]
