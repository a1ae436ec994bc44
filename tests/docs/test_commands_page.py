"""docs/commands.md describes every command and every flag, and nothing that does not exist."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import BaseCommand, get_commands, load_command_class

PAGE = (Path(settings.BASE_DIR) / "docs" / "commands.md").read_text()
SECTIONS = {part.split("\n", 1)[0]: part for part in PAGE.split("\n## ")[1:]}
OURS = {name: app for name, app in get_commands().items() if app in ("jobs", "jobs.videos")}
COMMANDS = sorted(OURS)
SHARED = {"--json", "--traceback", "--no-color", "--force-color"}


def flags_of(command: BaseCommand, name: str) -> set[str]:
    actions = command.create_parser("manage.py", name)._actions
    return {flag for action in actions for flag in action.option_strings if flag.startswith("--")}


def own_flags(name: str) -> set[str]:
    return flags_of(load_command_class(OURS[name], name), name) - flags_of(BaseCommand(), name)


def test_there_are_commands_to_describe():
    assert len(COMMANDS) >= 12


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_section_and_a_link(name):
    assert name in SECTIONS
    assert f"[`{name}`](#{name})" in PAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_flag_is_described_in_its_section(name):
    told = set(re.findall(r"--[a-z][a-z-]*", SECTIONS[name]))
    assert own_flags(name) - {"--json"} <= told, f"not described: {own_flags(name) - told}"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_section_tells_of_a_flag_that_does_not_exist(name):
    prose = re.sub(r"```.*?```", "", SECTIONS[name], flags=re.DOTALL)
    assert set(re.findall(r"--[a-z][a-z-]*", prose)) <= own_flags(name) | SHARED


def test_json_is_understood_by_every_command():
    assert [name for name in COMMANDS if "--json" not in own_flags(name)] == []
    assert "Every\ncommand has it." in PAGE
