"""Settings: what Django's own system checks say of ours, of security, and of who is told when something breaks."""

from collections.abc import Iterator

from django.conf import settings
from django.core import checks

from jobs.alerts.sending import channels
from jobs.conf import conf
from jobs.doctor.examination import Finding, Level, examination


@examination("settings")
def system_checks() -> Iterator[Finding]:
    for message in checks.run_checks():
        if message.level >= checks.WARNING and not message.is_silenced():
            level = Level.WRONG if message.level >= checks.ERROR else Level.ADVICE
            yield Finding(f"{message.msg} ({message.id})", message.hint or "", level)


@examination("debug")
def debug() -> Iterator[Finding]:
    if settings.DEBUG:
        text = "DEBUG is on: errors show code and settings to everybody, and every query is kept in memory."
        yield Finding(text, "Set DEBUG=0 in production.", Level.ADVICE)


@examination("alerts")
def alerts() -> Iterator[Finding]:
    if not channels():
        fix = "Set JOBS_ALERT_WEBHOOK_URL, or ADMINS in Django's settings."
        yield Finding("Nobody is told when something breaks.", fix, Level.ADVICE)


@examination("reaping")
def reaping() -> Iterator[Finding]:
    if not conf.REAP_INTERVAL:
        text = "JOBS_REAP_INTERVAL is 0: workers do not look after crashed ones."
        fix = "Run `manage.py reap_stale` by cron each minute, or set JOBS_REAP_INTERVAL=60."
        yield Finding(text, fix, Level.ADVICE)
