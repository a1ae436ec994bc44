"""System checks: settings that cannot work are refused with the setting, its value and the fix."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any

import django
from django.apps import apps
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.urls import URLResolver, get_resolver

from jobs.conf import all_settings, conf
from jobs.dispatch import link
from jobs.handlers.registry import registry
from jobs.setting_names import nearest, unknown_names
from jobs.web_address import problem_with

LONGEST, SHORTEST_LIMIT = 10 * 365 * 86_400, 0.001
_handlers_too: ContextVar[bool] = ContextVar("_handlers_too", default=True)


@checks.register("jobs")
def check_settings(**_: Any) -> list[checks.CheckMessage]:
    unreadable = list(unreadable_settings())
    return unreadable or [
        *absurd_durations(),
        *contradictions(),
        *webhook_problems(),
        *alert_problems(),
        *engine_problems(),
        *dispatch_problems(),
    ]


@checks.register("jobs")
def check_tasks_framework(**_: Any) -> list[checks.CheckMessage]:
    """Django 5.2 looks at TASKS only where the package for it is an installed app; Django 6 does so by itself."""
    backends = [params.get("BACKEND", "") for params in getattr(settings, "TASKS", {}).values()]
    unseen = django.VERSION < (6, 0) and not apps.is_installed("django_tasks")
    if not unseen or not any(name.startswith("jobs.") for name in backends):
        return []
    return [
        checks.Warning(
            "TASKS names JobyardBackend, but 'django_tasks' is not installed as an app: nobody checks its settings.",
            hint="Add 'django_tasks' to INSTALLED_APPS.",
            id="jobs.W021",
        )
    ]


@checks.register("jobs")
def check_api(**_: Any) -> list[checks.CheckMessage]:
    """No error: machines that only run workers have the same urls.py, and no use for django-ninja."""
    has_urls = getattr(settings, "ROOT_URLCONF", None) and includes_api(get_resolver())
    if not has_urls or find_spec("ninja"):
        return []
    return [
        checks.Warning(
            "The urls include jobs.api.urls, but django-ninja is not installed: no call of the API can be answered.",
            hint="Run pip install 'jobyard[api]' where the site is served. Where only workers run, nothing is missing.",
            id="jobs.W060",
        )
    ]


@checks.register("jobs")
def check_names(**_: Any) -> list[checks.CheckMessage]:
    return [
        checks.Warning(
            f"{name} in {where} is no setting of Jobyard: nobody reads it.",
            hint=f"Did you mean {meant}?" if (meant := nearest(name)) else ".env.example lists all there are.",
            id="jobs.W002",
        )
        for name, where in unknown_names()
    ]


@checks.register("jobs")
def check_handlers(**_: Any) -> list[checks.CheckMessage]:
    return [
        checks.Error(
            f"{module} cannot be imported: {reason}. Workers leave its jobs to others.",
            hint="Repair or install what is missing. Where this machine is not to run them, add 'jobs.E070' to "
            "SILENCED_SYSTEM_CHECKS.",
            id="jobs.E070",
        )
        for module, reason in (registry.broken() if _handlers_too.get() else {}).items()
    ]


@contextmanager
def handlers_left_out() -> Iterator[None]:
    """Checks without those of handlers: they are not even imported."""
    before = _handlers_too.set(False)
    try:
        yield
    finally:
        _handlers_too.reset(before)


def includes_api(resolver: URLResolver) -> bool:
    inner = [each for each in resolver.url_patterns if isinstance(each, URLResolver)]
    return any(getattr(each.urlconf_module, "__name__", "") == "jobs.api.urls" or includes_api(each) for each in inner)


def unreadable_settings() -> Iterator[checks.CheckMessage]:
    for setting in all_settings():
        try:
            setting.read()
        except ImproperlyConfigured as error:
            yield checks.Error(str(error), id="jobs.E001")


def absurd_durations() -> Iterator[checks.CheckMessage]:
    """Longer ones cannot be added to a moment, and a shorter time limit would be none at all."""
    for setting in all_settings():
        value = setting.read()
        if setting.unit == "seconds" and value is not None and value > LONGEST:
            yield checks.Error(
                f"JOBS_{setting.name} is {value:g} s, which is more than ten years.",
                hint=f"Set it to {LONGEST} or less.",
                id="jobs.E010",
            )
    if conf.MAX_RUNTIME is not None and conf.MAX_RUNTIME < SHORTEST_LIMIT:
        yield checks.Error(
            f"JOBS_MAX_RUNTIME is {conf.MAX_RUNTIME:g} s, so that no attempt could ever end in time.",
            hint=f"Leave it empty for no limit, or set it to {SHORTEST_LIMIT:g} or more.",
            id="jobs.E011",
        )


def contradictions() -> Iterator[checks.CheckMessage]:
    beat, lease, offline = conf.HEARTBEAT_INTERVAL, conf.CLAIM_DURATION, conf.WORKER_OFFLINE_THRESHOLD
    rules = [
        ("E002", beat == 0, "JOBS_HEARTBEAT_INTERVAL is 0, so no claim is ever renewed.", "Set it to 30 (seconds)."),
        (
            "E003",
            beat * 2 > lease,
            f"JOBS_HEARTBEAT_INTERVAL is {beat:g} s and JOBS_CLAIM_DURATION only {lease:g} s: "
            "one late heartbeat would lose a job.",
            f"Set JOBS_CLAIM_DURATION to at least {beat * 2:g}, better {beat * 4:g}.",
        ),
        (
            "E004",
            offline < beat,
            f"JOBS_WORKER_OFFLINE_THRESHOLD is {offline:g} s, below JOBS_HEARTBEAT_INTERVAL ({beat:g} s): "
            "healthy workers would be marked offline between two heartbeats.",
            f"Set JOBS_WORKER_OFFLINE_THRESHOLD to at least {beat * 2:g}, better {beat * 4:g}.",
        ),
        ("E005", conf.MAX_ATTEMPTS < 1, "JOBS_MAX_ATTEMPTS is 0, so no job would ever run.", "Set it to 1 or more."),
        (
            "E006",
            conf.BACKOFF_CAP < conf.BACKOFF_BASE,
            f"JOBS_BACKOFF_CAP is {conf.BACKOFF_CAP:g} s, below JOBS_BACKOFF_BASE ({conf.BACKOFF_BASE:g} s).",
            f"Set JOBS_BACKOFF_CAP to at least {conf.BACKOFF_BASE:g}.",
        ),
        ("E007", conf.POLL_INTERVAL == 0, "JOBS_POLL_INTERVAL is 0: idle workers would never rest.", "Set it to 1."),
        ("E020", conf.SSE_PING == 0, "JOBS_SSE_PING is 0: a stream would do nothing but ping.", "Set it to 30."),
        ("E021", conf.SSE_MAX_AGE == 0, "JOBS_SSE_MAX_AGE is 0: every stream would end at once.", "Set it to 900."),
    ]
    for number, broken, problem, fix in rules:
        if broken:
            yield checks.Error(problem, hint=fix, id=f"jobs.{number}")


def webhook_problems() -> Iterator[checks.CheckMessage]:
    url = conf.WEBHOOK_URL
    unusable = problem_with(url, conf.web_policy) if url else ""
    rules = [
        ("E030", bool(unusable), f"JOBS_WEBHOOK_URL {unusable}.", "Give another URL, or allow its host."),
        (
            "E031",
            conf.WEBHOOK_TIMEOUT == 0,
            "JOBS_WEBHOOK_TIMEOUT is 0: no request could end in time.",
            "Set it to 10.",
        ),
        ("E032", conf.WEBHOOK_TRIES == 0, "JOBS_WEBHOOK_TRIES is 0: nothing would ever be sent.", "Set it to 5."),
        (
            "E033",
            conf.WEBHOOK_PROGRESS > 100,
            f"JOBS_WEBHOOK_PROGRESS is {conf.WEBHOOK_PROGRESS}, but it is a step in percent.",
            "Set it to 10, or to 0 for no messages about progress.",
        ),
        (
            "E034",
            bool(conf.WEBHOOK_CA_FILE) and not os.access(conf.WEBHOOK_CA_FILE, os.R_OK),
            f"JOBS_WEBHOOK_CA_FILE is {conf.WEBHOOK_CA_FILE!r}, which cannot be read.",
            "Name a file with certificates in PEM, or leave it empty.",
        ),
    ]
    for number, broken, problem, fix in rules:
        if broken:
            yield checks.Error(problem, hint=fix, id=f"jobs.{number}")
    if url and not conf.WEBHOOK_SECRET:
        yield checks.Warning(
            "JOBS_WEBHOOK_URL is set and JOBS_WEBHOOK_SECRET is not: nobody can tell whether a message is from you.",
            hint="Put whsec_ and 32 random bytes in base64 into the environment; docs/webhooks.md says how.",
            id="jobs.W030",
        )


def alert_problems() -> Iterator[checks.CheckMessage]:
    """The address may be private and without TLS, for only an operator can write it; but it must be one."""
    unusable = problem_with(conf.ALERT_WEBHOOK_URL) if conf.ALERT_WEBHOOK_URL else ""
    rules = [
        ("E050", bool(unusable), f"JOBS_ALERT_WEBHOOK_URL {unusable}.", "Give another URL, or leave it empty."),
        ("E051", conf.ALERT_TIMEOUT == 0, "JOBS_ALERT_TIMEOUT is 0: no alert could be sent in time.", "Set it to 10."),
        ("E052", conf.ALERT_TRIES == 0, "JOBS_ALERT_TRIES is 0: no alert would ever be sent.", "Set it to 5."),
    ]
    for number, broken, problem, fix in rules:
        if broken:
            yield checks.Error(problem, hint=fix, id=f"jobs.{number}")


def engine_problems() -> Iterator[checks.CheckMessage]:
    if connection.vendor not in ("postgresql", "sqlite"):
        yield checks.Error(
            f"Jobyard runs on PostgreSQL and SQLite, not on {connection.vendor}.",
            hint="Point DATABASE_URL at a PostgreSQL server (15 or newer).",
            id="jobs.E008",
        )
    options = connection.settings_dict.get("OPTIONS", {})
    if connection.vendor == "sqlite" and options.get("transaction_mode") != "IMMEDIATE":
        yield checks.Error(
            "SQLite is used without OPTIONS['transaction_mode'] = 'IMMEDIATE': two workers could claim one job, "
            "or fail with 'database is locked'.",
            hint="Add OPTIONS = {'transaction_mode': 'IMMEDIATE', 'timeout': 20} to DATABASES.",
            id="jobs.E009",
        )


def dispatch_problems() -> Iterator[checks.CheckMessage]:
    """What can be known without asking Redis; whether it answers is asked by each worker that starts."""
    reason = link.what_is_missing() if conf.DISPATCH in link.BY_REDIS else ""
    if reason:
        level = checks.Error if conf.DISPATCH == "redis" else checks.Warning
        yield level(
            f"JOBS_DISPATCH is {conf.DISPATCH}, but {reason}.",
            hint="Put that right, or set JOBS_DISPATCH=auto.",
            id="jobs.E040" if conf.DISPATCH == "redis" else "jobs.W040",
        )
