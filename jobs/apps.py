"""The Django app: wires system checks and the discovery of handlers."""

from django.apps import AppConfig, apps
from django.utils.module_loading import module_has_submodule


class JobsConfig(AppConfig):
    name = "jobs"
    verbose_name = "Jobyard"

    def ready(self) -> None:
        from jobs import checks  # noqa: F401  registers the system checks
        from jobs.handlers.enqueueing import Door
        from jobs.handlers.registry import registry
        from jobs.lifecycle.enqueue import enqueue
        from jobs.lifecycle.enqueue_many import enqueue_each

        # Handlers may import heavy things: they are looked up when the first kind is asked for.
        registry.discover_with(modules_of_handlers)
        Door.enqueue, Door.enqueue_each = enqueue, enqueue_each


def modules_of_handlers() -> list[str]:
    """The `job_handlers` modules of the installed apps."""
    return [
        f"{app.name}.job_handlers" for app in apps.get_app_configs() if module_has_submodule(app.module, "job_handlers")
    ]
