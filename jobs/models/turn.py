"""A turn: a chore that every worker could do is done by the first that asks, once in a while."""

from django.db import models


class Turn(models.Model):
    name = models.CharField(max_length=100, primary_key=True)
    taken_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
