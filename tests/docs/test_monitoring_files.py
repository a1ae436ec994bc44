"""The dashboard and the rules ask for metrics, labels and values that `/metrics` has."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from jobs.conf import all_settings
from jobs.lifecycle.counts import RETRIES_EXCEEDED
from jobs.lifecycle.finish import complete
from jobs.lifecycle.reap import reap_once
from jobs.lifecycle.record_deliveries import record_deliveries
from jobs.lifecycle.take_deliveries import take_deliveries
from jobs.states import AlertName, Bucket, EventName, ShownState, Status, WorkerStatus
from jobs.webhooks.message import Sent
from tests.factories import claimed, job_in, make_worker

FOLDER = Path(settings.BASE_DIR) / "docs" / "monitoring"
PAGE = (FOLDER.parent / "monitoring.md").read_text()
NAME = re.compile(r"\bjobyard_[a-z_]+\b")
VALUE = re.compile(r'(\w+)=~?"([^"$]+)"')
VALUES: dict[str, set[str]] = {
    "event": {*EventName, RETRIES_EXCEEDED},
    "status": set(WorkerStatus),
    "state": {*Bucket, *ShownState},
    "outcome": {"raised", "sent", "suppressed", "given_up", "delivered", "failed"},
}


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((FOLDER / "alert-rules.yaml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FOLDER / "grafana-dashboard.json").read_text())["panels"]
    return found


def expressions() -> list[str]:
    return [rule["expr"] for rule in rules()] + [target["expr"] for panel in panels() for target in panel["targets"]]


@pytest.fixture
def there(db, client: Client, settings, tmp_path) -> set[str]:
    settings.STATIC_ROOT = tmp_path
    worker = make_worker()
    reap_once()
    complete(claimed(worker))
    claimed(worker)
    answer_webhook()
    families = text_string_to_metric_families(client.get("/metrics").content.decode())
    return {sample.name for family in families for sample in family.samples}


def answer_webhook() -> None:
    job_in(Status.FAILED, webhook_url="https://hooks.example.org/")
    [delivery] = take_deliveries(1, lambda host: 1)
    record_deliveries([Sent(delivery, True, 200)])


def test_every_metric_that_is_asked_for_is_there(there):
    asked = {name for expression in expressions() for name in NAME.findall(expression)}
    assert asked
    assert asked - there == set()


def test_every_metric_that_is_there_is_on_the_page_and_nothing_else(there):
    told = {name.removesuffix("_bucket") for name in NAME.findall(PAGE)}
    plain = {re.sub(r"_(bucket|sum|count)$", "", name) for name in there if name.startswith("jobyard_")}
    assert told == plain


def test_every_value_that_is_asked_for_can_be_there():
    for label, values in (pair for expression in expressions() for pair in VALUE.findall(expression)):
        assert set(values.split("|")) <= VALUES[label], (label, values)


def test_rules_and_panels_are_whole():
    for rule in rules():
        assert {"alert", "expr", "labels", "annotations"} <= rule.keys()
        assert {"summary", "description"} <= rule["annotations"].keys()
    assert len({rule["alert"] for rule in rules()}) == len(rules())
    assert len({panel["id"] for panel in panels()}) == len(panels())
    for expression in expressions():
        assert all(expression.count(a) == expression.count(b) for a, b in ("()", "{}", "[]")), expression


needs_promtool = pytest.mark.skipif(
    not shutil.which("promtool"), reason="promtool is not installed (apt-get install prometheus)"
)


@needs_promtool
def test_prometheus_itself_reads_the_rules():
    done = promtool("check", "rules", str(FOLDER / "alert-rules.yaml"))
    assert (done.returncode, f"{len(rules())} rules found" in done.stdout) == (0, True), done.stderr


@needs_promtool
def test_prometheus_itself_has_nothing_to_say_against_the_metrics(there, client: Client):
    done = promtool("check", "metrics", sent=client.get("/metrics").content.decode())
    assert (done.returncode, done.stderr) == (0, "")


def promtool(*words: str, sent: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *words], input=sent, capture_output=True, text=True, timeout=60)


def test_the_page_tells_of_every_alert_and_every_setting_of_them():
    assert {name for name in AlertName if f"`{name}`" not in PAGE} == set()
    ours = {f"JOBS_{setting.name}" for setting in all_settings() if setting.name.startswith("ALERT_")}
    assert {name for name in ours if name not in PAGE} == set()
