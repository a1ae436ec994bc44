"""Django's tasks, run by Jobyard: `TASKS = {"default": {"BACKEND": "jobs.tasks_backend.JobyardBackend"}}`."""

from jobs.tasks.backend import JobyardBackend
from jobs.tasks.task import JobyardTask, JobyardTaskContext, task

__all__ = ["JobyardBackend", "JobyardTask", "JobyardTaskContext", "task"]
