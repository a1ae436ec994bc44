"""The tasks of django-tasks-db: they can be made only once Django is set up, and its worker imports them by name."""

from django_tasks import task

from benchmarks.sides.side import note


@task()
def none() -> None:
    pass


@task()
def stamp(sent: int) -> None:
    note(sent)
