"""What the files of deploy/ say, read without the programs that they are for."""

import re
import shlex
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import yaml
from django.conf import settings
from django.core.management import get_commands, load_command_class

ROOT = Path(settings.BASE_DIR)
DEPLOY = ROOT / "deploy"
FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNITS = sorted((DEPLOY / "systemd").iterdir())
PAGES = sorted((ROOT / "docs/operations").glob("*.md"))


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


def manifests() -> list[dict[str, Any]]:
    return [document for path in MANIFESTS for document in documents(path)]


def compose() -> dict[str, Any]:
    [document] = documents(DEPLOY / "compose.yaml")
    return document


def within(value: Any, name: str) -> Iterator[Any]:
    """Every value that has this name, at any depth."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key == name:
                yield item
            yield from within(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from within(item, name)


def containers() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each container, and the pod that it is in."""
    pods = [pod["spec"] for document in manifests() for pod in within(document, "template")]
    return [(container, pod) for pod in pods for container in pod.get("containers", [])]


def unit(path: Path) -> ConfigParser:
    parser = ConfigParser(strict=True, interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(path.read_text())
    return parser


def instructions() -> list[tuple[str, str]]:
    """Of the Containerfile: each instruction, and what it says."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in text.splitlines() if line.strip()]


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every call of manage.py in deploy/, and in the blocks of docs/operations/: where it stands, and its words."""
    for container, _ in containers():
        if "manage.py" in container.get("command", []):
            yield container["name"], container["command"][container["command"].index("manage.py") + 1 :]
    for name, service in compose()["services"].items():
        if "manage.py" in service.get("command", []):
            yield name, service["command"][2:]
    texts = [(path.name, path.read_text()) for path in (*UNITS, DEPLOY / "Containerfile")]
    for page in PAGES:
        texts += [(page.name, block) for block in re.findall(r"^ *```\n(.*?)^ *```$", page.read_text(), re.M | re.S)]
        texts += [(page.name, f"python {code}") for code in re.findall(r"`(manage\.py [^`]+)`", page.read_text())]
    for where, text in texts:
        for words in re.findall(r"python manage\.py ([a-z_]+(?: [^\n&|;]+)?)", text):
            yield where, shlex.split(words.replace("%H", "box").replace("%i", "media"), comments=True)


def problem_of(words: list[str]) -> str:
    """What the command's own parser says against these words; nothing if it takes them."""
    name, *rest = words
    if name not in get_commands():
        return "there is no such command"
    app = get_commands()[name]
    command = load_command_class(app, name) if isinstance(app, str) else app
    parser = command.create_parser("manage.py", name)
    parser.error = lambda message: (_ for _ in ()).throw(ValueError(message))  # type: ignore[method-assign]
    try:
        parser.parse_args([word for word in rest if word != "…"])
    except ValueError as error:
        return str(error)
    return ""
