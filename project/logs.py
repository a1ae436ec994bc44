"""How the project logs: every line through the formatter that JOBS_LOG_FORMAT names, to standard error."""

from typing import Any


def to_stderr(level: str) -> dict[str, Any]:
    """The LOGGING of Django's settings."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": {"()": "jobs.logs.formatter"}},
        "handlers": {"console": {"class": "jobs.logs.StderrHandler", "formatter": "line"}},
        "root": {"handlers": ["console"], "level": level},
    }
