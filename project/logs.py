"""How the project logs: every line through the formatter that JOBS_LOG_FORMAT names, to standard error."""

from typing import Any


def to_stderr(level: str) -> dict[str, Any]:
    """The LOGGING of Django's settings."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": "jobs.logs.formatter"}},
        "filters": {"in_production": {"()": "django.utils.log.RequireDebugFalse"}},
        "handlers": {
            "console": {"class": "jobs.logs.StderrHandler", "formatter": "line"},
            "mail_admins": {
                "class": "django.utils.log.AdminEmailHandler",
                "level": "ERROR",
                "filters": ["in_production"],
            },
        },
        "root": {"handlers": ["console"], "level": level},
        # As Django sets it up, but for its own handler of the console: each line would be there twice.
        "loggers": {"django": {"handlers": ["mail_admins"], "level": "INFO"}},
    }
