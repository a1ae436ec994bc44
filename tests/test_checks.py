"""System checks: settings that cannot work are refused with the setting, its value and the fix."""

import sys
from types import SimpleNamespace

import pytest
from django.core.checks import run_checks
from django.db import connection

from jobs import checks
from jobs.checks import check_api, check_names, check_settings


def ids() -> list[str | None]:
    return [message.id for message in check_settings()]


def test_the_defaults_work():
    assert check_settings() == []


CONTRADICTIONS = [
    ({"HEARTBEAT_INTERVAL": 0}, "jobs.E002", ["JOBS_HEARTBEAT_INTERVAL is 0", "30"]),
    ({"HEARTBEAT_INTERVAL": 61}, "jobs.E003", ["JOBS_HEARTBEAT_INTERVAL is 61", "JOBS_CLAIM_DURATION", "120", "122"]),
    ({"WORKER_OFFLINE_THRESHOLD": 29}, "jobs.E004", ["JOBS_WORKER_OFFLINE_THRESHOLD is 29", "30 s", "60"]),
    ({"MAX_ATTEMPTS": 0}, "jobs.E005", ["JOBS_MAX_ATTEMPTS is 0", "1 or more"]),
    ({"BACKOFF_BASE": 20, "BACKOFF_CAP": 19}, "jobs.E006", ["JOBS_BACKOFF_CAP is 19", "JOBS_BACKOFF_BASE (20", "20"]),
    ({"POLL_INTERVAL": 0}, "jobs.E007", ["JOBS_POLL_INTERVAL is 0", "Set it to 1"]),
    ({"CLAIM_DURATION": 1e300}, "jobs.E010", ["JOBS_CLAIM_DURATION is 1e+300 s", "ten years", "315360000"]),
    ({"WEBHOOK_TIMEOUT": 0}, "jobs.E031", ["JOBS_WEBHOOK_TIMEOUT is 0", "Set it to 10"]),
    ({"WEBHOOK_TRIES": 0}, "jobs.E032", ["JOBS_WEBHOOK_TRIES is 0", "Set it to 5"]),
    ({"WEBHOOK_PROGRESS": 101}, "jobs.E033", ["JOBS_WEBHOOK_PROGRESS is 101", "step in percent"]),
    ({"WEBHOOK_CA_FILE": "/no/such.pem"}, "jobs.E034", ["JOBS_WEBHOOK_CA_FILE is '/no/such.pem'", "cannot be read"]),
    ({"ALERT_WEBHOOK_URL": "slack"}, "jobs.E050", ["JOBS_ALERT_WEBHOOK_URL must begin with", "leave it empty"]),
    ({"ALERT_TIMEOUT": 0}, "jobs.E051", ["JOBS_ALERT_TIMEOUT is 0", "Set it to 10"]),
    ({"ALERT_TRIES": 0}, "jobs.E052", ["JOBS_ALERT_TRIES is 0", "Set it to 5"]),
    ({"MAX_RUNTIME": 1e-9}, "jobs.E011", ["JOBS_MAX_RUNTIME is 1e-09 s", "empty", "0.001"]),
]


@pytest.mark.parametrize(("values", "number", "words"), CONTRADICTIONS)
def test_a_contradiction_names_the_setting_the_value_and_the_fix(settings, values, number, words):
    for name, value in values.items():
        setattr(settings, f"JOBS_{name}", value)
    [message] = check_settings()
    assert message.id == number
    assert [word for word in words if word not in f"{message.msg} {message.hint}"] == []


def test_a_webhook_for_all_must_be_one_that_is_called_and_should_be_signed(settings, monkeypatch):
    settings.JOBS_WEBHOOK_URL = "https://10.0.0.1/"
    [unusable, unsigned] = check_settings()
    assert (unusable.id, unsigned.id) == ("jobs.E030", "jobs.W030")
    assert "JOBS_WEBHOOK_URL leads to 10.0.0.1, which is private" in unusable.msg
    settings.JOBS_WEBHOOK_ALLOW = ["10.0.0.0/8"]
    monkeypatch.setenv("JOBS_WEBHOOK_SECRET", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    assert ids() == []


@pytest.mark.parametrize(
    "values",
    [
        {"ALERT_WEBHOOK_URL": "http://127.0.0.1:9093/hook"},
        {"HEARTBEAT_INTERVAL": 60},
        {"WORKER_OFFLINE_THRESHOLD": 30},
        {"BACKOFF_CAP": 10},
        {"BACKOFF_BASE": 0},
    ],
)
def test_values_at_the_edge_work(settings, values):
    for name, value in values.items():
        setattr(settings, f"JOBS_{name}", value)
    assert ids() == []


def test_settings_that_cannot_be_read_are_all_named_and_hide_the_rest(settings):
    settings.JOBS_MAX_ATTEMPTS, settings.JOBS_CLAIM_DURATION = "many", "long"
    messages = check_settings()
    assert [message.id for message in messages] == ["jobs.E001", "jobs.E001"]
    assert {message.msg.split()[0] for message in messages} == {"JOBS_MAX_ATTEMPTS", "JOBS_CLAIM_DURATION"}


def test_a_name_that_is_no_setting_is_told_with_the_one_that_may_be_meant(settings, monkeypatch):
    assert check_names() == []
    settings.JOBS_HEARTBEAT_INTERVALL = 10
    monkeypatch.setenv("JOBS_RETENTON_FAILED", "5")
    monkeypatch.setenv("JOBS_ZZZ", "1")
    assert [(message.id, message.msg, message.hint) for message in check_names()] == [
        (
            "jobs.W002",
            "JOBS_HEARTBEAT_INTERVALL in Django's settings is no setting of Jobyard: nobody reads it.",
            "Did you mean JOBS_HEARTBEAT_INTERVAL?",
        ),
        (
            "jobs.W002",
            "JOBS_RETENTON_FAILED in the environment is no setting of Jobyard: nobody reads it.",
            "Did you mean JOBS_RETENTION_FAILED?",
        ),
        (
            "jobs.W002",
            "JOBS_ZZZ in the environment is no setting of Jobyard: nobody reads it.",
            ".env.example lists all there are.",
        ),
    ]


OF_KUBERNETES = [
    "JOBS_SERVICE_HOST", "JOBS_SERVICE_PORT", "JOBS_SERVICE_PORT_HTTP", "JOBS_PORT", "JOBS_PORT_8000_TCP",
    "JOBS_PORT_8000_TCP_ADDR", "JOBS_WEB_SERVICE_HOST", "JOBS_WEB_PORT", "JOBS_WEB_PORT_80_TCP_PROTO",
]  # fmt: skip


@pytest.mark.parametrize("name", [*OF_KUBERNETES, "JOBS_WORKER_KEY", "JOBS_VIDEO_PARALLEL", "JOB_HEARTBEAT_INTERVALL"])
def test_what_others_put_into_the_environment_and_what_is_known_is_no_such_name(monkeypatch, name):
    monkeypatch.setenv(name, "1")
    assert check_names() == []


@pytest.mark.django_db  # Django's own check of JSON fields asks the database
def test_the_checks_are_part_of_manage_check(settings):
    settings.JOBS_POLL_INTERVAL, settings.JOBS_POLL = 0, 1
    assert {"jobs.E007", "jobs.W002"} <= {message.id for message in run_checks()}


@pytest.mark.sqlite
def test_sqlite_without_immediate_transactions_is_refused(monkeypatch):
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "transaction_mode", "DEFERRED")
    assert ids() == ["jobs.E009"]


def test_another_engine_is_refused(monkeypatch):
    monkeypatch.setattr(checks, "connection", SimpleNamespace(vendor="mysql", settings_dict={}))
    assert ids() == ["jobs.E008"]


def test_the_api_s_urls_without_the_package_that_answers_are_noticed(settings, monkeypatch):
    assert check_api() == []
    monkeypatch.setitem(sys.modules, "ninja", None)  # as where it is not installed
    [message] = check_api()
    assert (message.id, "pip install 'jobyard[api]'" in str(message.hint)) == ("jobs.W060", True)
    settings.ROOT_URLCONF = "jobs.api.monitoring.urls"
    assert check_api() == []
