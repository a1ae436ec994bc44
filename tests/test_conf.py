"""Settings: from Django's settings, else the environment, else the default; typed, and refused with their name."""

from datetime import timedelta

import pytest
from django.core.exceptions import ImproperlyConfigured

from jobs.conf import Conf, all_settings, conf
from jobs.web_address import Allowed

DAY = 86_400
DEFAULTS = {
    "HEARTBEAT_INTERVAL": 30, "CLAIM_DURATION": 120, "WORKER_OFFLINE_THRESHOLD": 120, "STALE_LOCK_AGE": 2700,
    "REAP_INTERVAL": 60, "REAP_GRACE": 120, "POLL_INTERVAL": None, "MAX_ATTEMPTS": 3, "BACKOFF": "exponential",
    "BACKOFF_BASE": 10, "BACKOFF_CAP": 3600, "MAX_RUNTIME": None, "STALL_AFTER": 600, "GPU_WAIT": None,
    "KEEP_COMPLETED_QUALITIES": True, "CLEANUP_PARTIAL_ON_FAILURE": True, "SHUTDOWN_TIMEOUT": 30,
    "RETENTION_COMPLETED": 30 * DAY, "RETENTION_FAILED": 90 * DAY, "RETENTION_CANCELLED": 30 * DAY,
    "RETENTION_STALE_FOR": 7 * DAY, "DISPATCH": "auto", "REDIS_URL": "", "REDIS_POOL_SIZE": 10, "SSE_PING": 30,
    "SSE_RECONNECT": 3, "ALERT_WEBHOOK_URL": "", "ALERT_COOLDOWN": 300, "ALERT_TIMEOUT": 10, "ALERT_DEPTH": 10_000,
    "MAX_PAYLOAD": 1024 * 1024, "WEBHOOK_URL": "", "WEBHOOK_SECRET": (), "WEBHOOK_ALLOW": Allowed(),
    "WEBHOOK_PORTS": {443, 8443}, "WEBHOOK_TIMEOUT": 10, "WEBHOOK_TRIES": 5, "WEBHOOK_BACKOFF": 15,
    "WEBHOOK_GIVE_UP": DAY, "WEBHOOK_BREAKER": 5, "WEBHOOK_BREAKER_PAUSE": 30, "WEBHOOK_PROGRESS": 0,
    "WEBHOOK_MAX_RESULT": 65_536, "WEBHOOK_CONCURRENCY": 8, "WEBHOOK_CA_FILE": "", "RETENTION_WEBHOOKS": 30 * DAY,
}  # fmt: skip


@pytest.mark.parametrize(("name", "default"), DEFAULTS.items())
def test_the_defaults_are_those_of_the_design(name, default, monkeypatch):
    monkeypatch.delenv(f"JOBS_{name}", raising=False)
    assert getattr(conf, name) == default


def test_every_setting_says_what_it_means_and_in_which_unit():
    told = list(all_settings())
    assert {setting.name for setting in told} >= set(DEFAULTS)
    assert all(setting.meaning.endswith(".") and setting.unit for setting in told)


def test_djangos_settings_go_before_the_environment_and_that_before_the_default(settings, monkeypatch):
    monkeypatch.setenv("JOBS_REAP_INTERVAL", "7.5")
    assert conf.REAP_INTERVAL == 7.5
    settings.JOBS_REAP_INTERVAL = 8
    assert conf.REAP_INTERVAL == 8
    settings.JOBS_REAP_INTERVAL = timedelta(minutes=2)
    assert conf.REAP_INTERVAL == 120


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("BACKOFF_BASE", "0", 0.0),
        ("MAX_ATTEMPTS", "5", 5),
        ("KEEP_COMPLETED_QUALITIES", "off", False),
        ("KEEP_COMPLETED_QUALITIES", "Yes", True),
        ("BACKOFF", "linear", "linear"),
        ("MAX_RUNTIME", "", None),
        ("MAX_RUNTIME", "60", 60.0),
        ("BACKOFF_JITTER", "0.25", 0.25),
        ("WEBHOOK_PORTS", "443, 9443", {443, 9443}),
        ("WEBHOOK_ALLOW", " 10.0.0.0/8 ,a.example,", Allowed.parse(["10.0.0.0/8", "a.example"])),
        ("REDIS_URL", "redis://localhost", "redis://localhost"),
    ],
)
def test_values_are_read_as_what_they_are(monkeypatch, name, raw, value):
    monkeypatch.setenv(f"JOBS_{name}", raw)
    assert getattr(conf, name) == value


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("CLAIM_DURATION", "two minutes", "a number of seconds, zero or more"),
        ("CLAIM_DURATION", "-1", "a number of seconds"),
        ("CLAIM_DURATION", "nan", "a number of seconds"),
        ("CLAIM_DURATION", "inf", "a number of seconds"),
        ("CLAIM_DURATION", True, "a number of seconds"),
        ("MAX_ATTEMPTS", "1.5", "a whole number, zero or more"),
        ("MAX_ATTEMPTS", "-3", "a whole number"),
        ("MAX_ATTEMPTS", True, "a whole number"),
        ("BACKOFF_JITTER", "1.1", "a number from 0 to 1"),
        ("BACKOFF_JITTER", "much", "a number from 0 to 1"),
        ("KEEP_COMPLETED_QUALITIES", "maybe", "one of 1, true, yes, on"),
        ("BACKOFF", "random", "one of exponential, linear, fixed"),
        ("MAX_RUNTIME", "long", "a number of seconds"),
        ("WEBHOOK_PORTS", "443, https", "port numbers from 1 to 65535"),
        ("WEBHOOK_PORTS", "0", "port numbers from 1 to 65535"),
        ("WEBHOOK_ALLOW", "10.0.0.0/99", "hosts and networks like"),
        ("WEBHOOK_ALLOW", 7, "a list of texts"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_with_name_value_and_what_it_must_be(settings, name, raw, words):
    setattr(settings, f"JOBS_{name}", raw)
    with pytest.raises(ImproperlyConfigured, match=f"JOBS_{name} is {raw!r}, but it must be {words}"):
        getattr(conf, name)


def test_the_gpu_wait_is_two_heartbeats_unless_set(settings):
    assert conf.gpu_wait == 60
    settings.JOBS_HEARTBEAT_INTERVAL = 5
    assert conf.gpu_wait == 10
    settings.JOBS_GPU_WAIT = 0
    assert conf.gpu_wait == 0


def test_on_the_class_a_setting_is_itself():
    assert Conf.CLAIM_DURATION.unit == "seconds"


KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def test_secrets_come_from_the_environment_alone_several_at_a_time(settings, monkeypatch):
    monkeypatch.setenv("JOBS_WEBHOOK_SECRET", f"{KEY}, {KEY}")
    assert [len(secret) for secret in conf.WEBHOOK_SECRET] == [24, 24]
    settings.JOBS_WEBHOOK_SECRET = KEY
    with pytest.raises(ImproperlyConfigured, match="read from the environment alone") as caught:
        _ = conf.WEBHOOK_SECRET
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("wrong", [KEY[6:], "whsec_c2hvcnQ=", "whsec_%%%", "whsec_" + "A" * 400])
def test_a_secret_that_is_none_is_refused_and_not_shown(monkeypatch, wrong):
    monkeypatch.setenv("JOBS_WEBHOOK_SECRET", wrong)
    with pytest.raises(ImproperlyConfigured, match="24 to 64 random bytes in base64") as caught:
        _ = conf.WEBHOOK_SECRET
    assert wrong not in str(caught.value)
