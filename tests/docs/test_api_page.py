"""docs/api.md: its calls work as they stand, its answers have the fields it shows, and it leaves nothing out."""

import json
import re
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings, settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs.api.docs_page import openapi
from jobs.lifecycle.api_tokens import make_token
from jobs.states import Status
from tests.factories import job_in, make_job

pytestmark = [pytest.mark.once, pytest.mark.django_db]
PAGE = (Path(settings.BASE_DIR) / "docs" / "api.md").read_text()
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
SITE = "https://jobs.example.org"


def examples() -> list[tuple[str, Any]]:
    """Each curl command with the answer that the page shows below it, if it shows one."""
    pairs = []
    for (_, block), (language, below) in zip(BLOCKS, [*BLOCKS[1:], ("", "")], strict=True):
        if block.startswith("curl"):
            pairs.append((block.replace("\\\n", " "), json.loads(below) if language == "json" else None))
    return pairs


EXAMPLES = examples()


def send(command: str, token: str, job_id: int) -> Any:
    """What curl would do with these few options."""
    words = shlex.split(command.replace("$TOKEN", token))[1:]
    address = next(word for word in words if word.startswith(SITE)).removeprefix(SITE).replace("/7/", f"/{job_id}/")
    headers = dict(words[place + 1].split(": ", 1) for place, word in enumerate(words) if word == "-H")
    sent = [words[place + 1] for place, word in enumerate(words) if word == "-d"]
    if "-X" in words:
        body, content_type = "".join(sent), headers.get("Content-Type", "")
        return Client(headers=headers).generic("POST", address, body, content_type=content_type)
    query = "&".join(sent)
    return Client(headers=headers).get(f"{address}?{query}" if query else address)


def shape(value: Any) -> Any:
    """The names, at any depth; of values only what kind they are."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    if isinstance(value, list):
        return [shape(item) for item in value]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[str(number) for number in range(len(EXAMPLES))])
def test_a_call_works_as_it_stands(command: str, shown: Any, settings: LazySettings, tmp_path: Path):
    settings.STATIC_ROOT = tmp_path
    _, token = make_token(User.objects.create_superuser("anna", password=None), "docs")
    failed = job_in(Status.FAILED, queue="media", subject="film.mkv")
    make_job(queue="media"), make_job(queue="media")
    make_job(queue="media", run_after=timezone.now() + timedelta(hours=1))
    answer = send(command, token, failed.pk)
    assert answer.status_code in (200, 201), answer.content
    if shown is not None:
        assert shape(answer.json()) == shape(shown)
        if "depth" in command:
            told = answer.json() | {"queues": 0}
            assert told == shown | {"queues": 0}


def test_there_are_examples():
    assert len(EXAMPLES) >= 6


def test_every_call_every_parameter_and_every_status_is_on_the_page():
    document = dict(openapi())  # without the calls of remote workers, which have a page of their own
    document["paths"] = {path: said for path, said in document["paths"].items() if "/api/worker/" not in path}
    told = set(re.findall(r"^\| `(GET|POST) (\S+)` \|", PAGE, re.MULTILINE))
    exist = {
        (method.upper(), path.replace("{job_id}", "{id}"))
        for path, said in document["paths"].items()
        for method in said
    }
    assert told == exist
    operations = [said for methods in document["paths"].values() for said in methods.values()]
    statuses = {str(status) for said in operations for status in said["responses"]} - {"200", "201"}
    assert statuses <= set(re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE))
    named = set(re.findall(r"`(\w+)`", PAGE))
    assert {parameter["name"] for said in operations for parameter in said["parameters"]} - {"job_id"} <= named
    assert document["components"]["schemas"]["NewJob"]["properties"].keys() <= named
    assert {said["x-permission"] for said in operations} <= set(re.findall(r"`(jobs\.\w+)`", PAGE))
