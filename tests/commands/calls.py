"""Calls a command in this process and gives back what it printed, or how it refused."""

import json
from dataclasses import dataclass
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command


@dataclass(frozen=True)
class Refusal:
    """An error: its exit code, its sentence, and what was printed before."""

    code: int
    sentence: str
    printed: str = ""


def run(name: str, *arguments: object) -> str:
    out = StringIO()
    call_command(name, *map(str, arguments), stdout=out)
    return out.getvalue()


def run_json(name: str, *arguments: object) -> Any:
    """What it prints is one JSON document and nothing else."""
    return json.loads(run(name, *arguments, "--json"))


def refused(name: str, *arguments: object) -> Refusal:
    out = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command(name, *map(str, arguments), stdout=out)
    sentence = str(caught.value)
    assert "\n" not in sentence, "an error is one line"
    assert "\x1b" not in sentence, "an error must not steer the terminal"
    # What argparse refuses exits with 2 on the command line; called from Python it is an error without a code.
    code = 2 if sentence.startswith("Error: ") else caught.value.returncode
    return Refusal(code, sentence, out.getvalue())
