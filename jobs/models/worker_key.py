"""A key: lets a machine work for a remote worker over HTTP. A worker may have several, while one replaces another."""

from django.db import models

from jobs.models.secret import Secret, SecretQuerySet
from jobs.models.worker import Worker


class WorkerKeyQuerySet(SecretQuerySet["WorkerKey"]):
    pass


class WorkerKey(Secret):
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="keys")

    objects = WorkerKeyQuerySet.as_manager()

    def __str__(self) -> str:
        return f"key {self.prefix}"
