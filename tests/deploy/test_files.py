"""deploy/ and docs/operations/: no engine runs them here, so what can be known without one is checked."""

import json
import re
import shutil
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.test import Client

from jobs.conf import conf
from jobs.states import Bucket
from jobs.worker import last_waits, shutdown
from jobs.worker.remote_files import CHECKED_WITHIN
from tests.deploy.files import (
    DEPLOY,
    FILES,
    MANIFESTS,
    PAGES,
    ROOT,
    UNITS,
    commands,
    compose,
    containers,
    documents,
    instructions,
    manifests,
    problem_of,
    unit,
    within,
)  # fmt: skip
from tests.docs.test_env_example import documented

pytestmark = pytest.mark.once
COMMANDS = list(commands())
STOPS_WITHIN = conf.SHUTDOWN_TIMEOUT + shutdown.STOPS_WITHIN
GRACEFUL = 30  # graceful_timeout of gunicorn.conf.py
# What the image, the orchestrator and other programs read.
NOT_OURS = {"POSTGRES_USER", "POSTGRES_DB", "POSTGRES_PASSWORD", "POD_NAME", "SITE", "UPSTREAM"}
OF_PYTHON = {"PATH", "HOME", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}


def test_there_is_something_to_check():
    assert len(FILES) >= 15
    assert len(COMMANDS) >= 15
    assert len(containers()) >= 6


@pytest.mark.parametrize(("where", "words"), COMMANDS, ids=[" ".join(words) for _, words in COMMANDS])
def test_every_command_and_flag_is_one_of_ours(where: str, words: list[str]):
    assert problem_of(words) == "", f"{where}: manage.py {' '.join(words)}"


def test_a_wrong_command_or_flag_is_noticed():
    assert problem_of(["run_worker"]) == "there is no such command"
    assert "--proceses" in problem_of(["runworker", "--proceses", "2"])
    assert "not a whole number" in problem_of(["runworker", "--processes", "two"])


def test_every_name_in_an_environment_is_documented():
    named = {name for environment in within(compose(), "environment") for name in environment}
    for document in manifests():
        named |= {entry["name"] for environment in within(document, "env") for entry in environment}
        named |= set(document.get("data", []))
    for _, said in (each for each in instructions() if each[0] == "ENV"):
        named |= set(re.findall(r"\b([A-Z_]+)=", said))
    for path in (*FILES, *PAGES):
        named |= set(re.findall(r"\bJOBS_[A-Z_]*[A-Z]\b", path.read_text()))
    assert len(named) > 15
    pip = {name for name in named if name.startswith("PIP_")}
    assert named - documented().keys() - NOT_OURS - OF_PYTHON - pip == set()


# --- systemd


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_starts_a_program_that_exists_and_stops_it_in_time(path: Path):
    said = unit(path)
    if path.suffix == ".timer":
        assert (path.parent / f"{path.stem}.service").exists()
        assert said["Install"]["WantedBy"] == "timers.target"
        return
    service = said["Service"]
    assert re.match(r"/srv/jobyard/\.venv/bin/(gunicorn$|python manage\.py )", service["ExecStart"])
    assert service["User"] == "jobyard"
    assert service["NoNewPrivileges"] == "yes"
    if service["Type"] != "oneshot":
        assert service["KillMode"] == "mixed"
        least = STOPS_WITHIN if "runworker" in service["ExecStart"] else GRACEFUL
        assert int(service["TimeoutStopSec"]) > least


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")
def test_systemd_itself_understands_the_units():
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *map(str, UNITS)], capture_output=True, text=True, timeout=60
    )
    problems = [line for line in done.stderr.splitlines() if "deploy/" in line or line.startswith("jobyard")]
    assert [line for line in problems if "/srv/jobyard/.venv" not in line] == []


# --- containers


def test_the_image_is_built_in_stages_and_runs_without_root():
    said = instructions()
    assert [words.split()[0] for name, words in said if name == "FROM"] == ["python:${PYTHON}"] * 2
    last = max(place for place, (name, _) in enumerate(said) if name == "FROM")
    final = dict(said[last:])
    assert final["USER"] == "10001:10001"
    assert json.loads(final["CMD"])[0] == "gunicorn"
    assert final["STOPSIGNAL"] == "SIGTERM"
    assert "ADD" not in dict(said)


def test_what_the_image_copies_exists_and_no_secret_is_among_it():
    sources = [
        word
        for name, words in instructions()
        if name == "COPY" and "--from" not in words
        for word in words.split()[:-1]
    ]
    assert {"jobs", "project", "templates", "manage.py", "gunicorn.conf.py"} <= set(sources)
    assert [source for source in sources if not (ROOT / source).exists()] == []
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {".env", ".git"} <= set(ignored)
    assert [source for source in sources if source in ignored] == []


def test_the_image_has_every_extra_that_the_project_needs():
    [installed] = re.findall(r"'\.\[([\w,]+)\]'", (DEPLOY / "Containerfile").read_text())
    assert set(installed.split(",")) == {"project", "api", "metrics", "redis", "tasks", "videos"}


def test_hadolint_has_nothing_to_say_about_the_image():
    command = [str(Path(sys.executable).with_name("hadolint")), "--no-color", str(DEPLOY / "Containerfile")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize("name", ["web", "worker", "migrate", "prune"])
def test_containers_of_compose_write_nowhere_but_to_volumes(name: str):
    service = compose()["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    written = [volume.split(":")[1] for volume in service["volumes"]] + service["tmpfs"]
    assert set(written) == {"/data", "/tmp"}


def test_compose_waits_long_enough_for_what_it_stops():
    services = compose()["services"]
    assert int(services["worker"]["stop_grace_period"].removesuffix("s")) > STOPS_WITHIN
    assert int(services["web"]["stop_grace_period"].removesuffix("s")) > GRACEFUL


def test_compose_uses_only_volumes_and_networks_that_it_has():
    said = compose()
    named = {volume.split(":")[0] for service in said["services"].values() for volume in service.get("volumes", [])}
    assert {name for name in named if not name.startswith("./")} == said["volumes"].keys()
    assert all((ROOT / name).exists() for name in named if name.startswith("./"))
    [subnet] = within(said["networks"], "subnet")
    assert said["services"]["web"]["environment"]["FORWARDED_ALLOW_IPS"] == subnet


# --- Kubernetes


# It has 108 MB, so that only who changes a manifest has it: `pip install kubernetes-validate`.
if find_spec("kubernetes_validate"):

    @pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
    def test_manifests_are_valid(path: Path):
        validator = import_module("kubernetes_validate")
        for document in documents(path):
            if not document["apiVersion"].startswith("keda.sh/"):  # not of Kubernetes itself
                validator.validate(document, validator.latest_version(), strict=True)


def test_every_pod_runs_without_root_on_a_read_only_file_system():
    for container, pod in containers():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] == 10001
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["allowPrivilegeEscalation"] is False
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]


def test_pods_are_given_the_time_to_stop():
    for container, pod in containers():
        command = container.get("command", ["gunicorn"])
        if "runworker" in command:
            assert pod["terminationGracePeriodSeconds"] > STOPS_WITHIN
        if command == ["gunicorn"]:
            [before] = within(container, "preStop")
            assert pod["terminationGracePeriodSeconds"] > GRACEFUL + int(before["exec"]["command"][1])


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("docs/commands.md", f"[{shutdown.STOPS_WITHIN:g} s](operations/workers.md#signals)"),
        ("docs/operations/containers.md", f"[{shutdown.STOPS_WITHIN:g} s](workers.md#signals)"),
        ("docs/operations/one-machine.md", f"the {shutdown.STOPS_WITHIN:g} s that a worker takes after it"),
        ("docs/operations/workers.md", f": {shutdown.STOPS_WITHIN:g} s at most, whatever hangs."),
        ("docs/operations/workers.md", f"| {shutdown.GIVE_UP_AFTER:g} s | if the database"),
        ("docs/operations/workers.md", f"| {shutdown.LEAVE_AFTER:g} s | it waits no longer"),
        ("docs/operations/workers.md", f"| {last_waits.ALL_TOGETHER:g} s more | it signs off"),
        ("docs/webhooks.md", f"no longer than {last_waits.ALL_TOGETHER:g} s in all"),
    ],
)
def test_the_pages_say_how_long_a_worker_takes_to_stop(page: str, said: str):
    assert said in (ROOT / page).read_text()


def test_what_pods_mount_and_select_exists():
    for document in manifests():
        for pod in (template["spec"] for template in within(document, "template")):
            if "containers" in pod:
                mounted = {mount["name"] for mount in within(pod, "volumeMounts") for mount in mount}
                assert mounted == {volume["name"] for volume in pod.get("volumes", [])}
    labels = [template["metadata"]["labels"] for document in manifests() for template in within(document, "template")]
    for document in manifests():
        if document["kind"] in ("Service", "PodDisruptionBudget", "NetworkPolicy"):
            [selected] = [*within(document, "selector"), *within(document, "podSelector")][:1]
            assert selected.get("matchLabels", selected) in labels


@pytest.mark.django_db
def test_probes_are_answered_by_the_name_they_say(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    [names] = [document["data"]["ALLOWED_HOSTS"] for document in manifests() if document["kind"] == "ConfigMap"]
    settings.ALLOWED_HOSTS, settings.SECURE_SSL_REDIRECT = names.split(","), True
    probes = [probe for container, _ in containers() for probe in within(container, "httpGet")]
    assert {probe["path"] for probe in probes} == {"/health/live", "/health/ready"}
    for probe in probes:
        [header] = probe["httpHeaders"]
        assert Client(headers={header["name"].lower(): header["value"]}).get(probe["path"]).status_code == 200
    assert Client(headers={"host": "10.244.0.7"}).get("/health/live").status_code == 400, (
        "then the header is not needed"
    )


@pytest.mark.django_db
def test_workers_are_scaled_by_figures_that_exist(settings, tmp_path):
    settings.STATIC_ROOT = tmp_path
    told = Client().get("/metrics").content.decode()
    queries = [query for document in manifests() for query in within(document, "query")]
    assert len(queries) == 2
    for query in queries:
        assert set(re.findall(r"jobyard_\w+", query)) <= set(re.findall(r"^# TYPE (\w+)", told, re.MULTILINE))
        [states] = re.findall(r'state=~?"([\w|]+)"', query)
        assert set(states.split("|")) <= {bucket.value for bucket in Bucket}


# --- Proxies and the pages


def test_proxies_let_streams_through_and_say_who_the_visitor_is():
    nginx = (DEPLOY / "nginx.conf").read_text()
    assert nginx.count("{") == nginx.count("}")
    [stream] = re.findall(r"location /api/events/ \{(.*?)\}", nginx, re.DOTALL)
    assert "proxy_buffering off;" in stream
    [patience] = re.findall(r"proxy_read_timeout (\d+)s;", stream)
    assert int(patience) >= 3 * conf.SSE_PING
    [workers] = re.findall(r"location /api/worker/ \{.*?proxy_read_timeout (\d+)s;.*?\}", nginx, re.DOTALL)
    assert int(workers) >= CHECKED_WITHIN, "a worker would ask again while its files are still looked at"
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in nginx
    caddy = (DEPLOY / "Caddyfile").read_text()
    assert "flush_interval -1" in caddy
    assert "encode @pages" in caddy


def test_the_pages_name_every_file_and_say_which_were_never_run():
    told = "".join(page.read_text() for page in PAGES)
    names = {path.relative_to(ROOT).as_posix() for path in FILES}
    assert [name for name in names if Path(name).name not in told] == []
    [table] = re.findall(r"^## What was never run\n(.*?)(?=^## |\Z)", told, re.MULTILINE | re.DOTALL)
    for name in (
        "Containerfile",
        "compose.yaml",
        "kubernetes/",
        "nginx.conf",
        "Caddyfile",
        "systemd/",
        "pgbouncer.ini",
    ):
        assert name in table
