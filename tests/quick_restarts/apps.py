"""The waits are shortened, nothing else."""

from django.apps import AppConfig

from jobs.worker import crew


class QuickRestarts(AppConfig):
    name = "tests.quick_restarts"

    def ready(self) -> None:
        crew.RESTART_AFTER = (0.01,)  # type: ignore[assignment]
