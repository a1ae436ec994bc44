"""Settings from the environment, as `manage.py check` judges them in a process of its own."""

import re
import secrets
import subprocess
import sys
from pathlib import Path

from django.conf import settings

ROOT = Path(settings.BASE_DIR)
SET_IN_EXAMPLE = re.compile(r"^([A-Z_]+)=(.*)$", re.MULTILINE)
# An empty value is a value: a developer's .env must not decide what these tests see.
BARE = {"PATH": "/usr/bin:/bin", "DEBUG": "0", "SECRET_KEY": "", "DATABASE_URL": "sqlite:///:memory:"}


def check(*flags: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "check", *flags]
    return subprocess.run(command, cwd=ROOT, env={**BARE, **environment}, capture_output=True, text=True, timeout=60)


def test_without_a_secret_key_it_says_what_to_set():
    done = check()
    assert done.returncode != 0
    assert "SECRET_KEY is not set. Put a long random string into the environment or into .env" in done.stderr
    assert "or set DEBUG=1 on your own machine" in done.stderr


def test_the_documented_production_environment_is_fit_to_deploy():
    documented = dict(SET_IN_EXAMPLE.findall((ROOT / ".env.example").read_text()))
    assert documented.keys() == {"SECRET_KEY", "ALLOWED_HOSTS"}
    production = {**documented, "SECRET_KEY": secrets.token_urlsafe(50)}
    done = check("--deploy", "--fail-level", "WARNING", **production)
    assert (done.returncode, done.stderr) == (0, "")


def test_values_that_cannot_work_are_refused_with_name_value_and_fix():
    done = check(DEBUG="1", JOBS_HEARTBEAT_INTERVAL="90", JOBS_WORKER_OFFLINE_THRESHOLD="60")
    assert done.returncode == 1
    assert "JOBS_HEARTBEAT_INTERVAL is 90 s and JOBS_CLAIM_DURATION only 120 s" in done.stderr
    assert "HINT: Set JOBS_CLAIM_DURATION to at least 180, better 360." in done.stderr
    assert "JOBS_WORKER_OFFLINE_THRESHOLD is 60 s, below JOBS_HEARTBEAT_INTERVAL (90 s)" in done.stderr
    assert "HINT: Set JOBS_WORKER_OFFLINE_THRESHOLD to at least 180, better 360." in done.stderr


def test_values_that_cannot_be_read_are_refused_all_at_once():
    done = check(DEBUG="1", JOBS_HEARTBEAT_INTERVAL="soon", JOBS_MAX_ATTEMPTS="-1", JOBS_BACKOFF="random")
    assert done.returncode == 1
    assert "JOBS_HEARTBEAT_INTERVAL is 'soon', but it must be a number of seconds, zero or more." in done.stderr
    assert "JOBS_MAX_ATTEMPTS is '-1', but it must be a whole number, zero or more." in done.stderr
    assert "JOBS_BACKOFF is 'random', but it must be one of exponential, linear, fixed." in done.stderr


def test_a_line_of_django_s_own_loggers_is_written_once():
    script = "import django, logging; django.setup(); logging.getLogger('django.request').warning('said once')"
    environment = {**BARE, "DEBUG": "1", "DJANGO_SETTINGS_MODULE": "project.settings"}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr.count("said once")) == (0, 1), done.stderr
