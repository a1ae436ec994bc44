"""The waits are shortened, nothing else."""

from django.apps import AppConfig

from jobs.worker import watch


class Impatient(AppConfig):
    name = "tests.impatient"

    def ready(self) -> None:
        watch.UNHEARD, watch.UNTAKEN = 1.0, 0.5
