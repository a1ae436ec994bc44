"""How many calls of a caller were allowed in the present minute: web processes take them in portions."""

from django.db import models


class CallBudget(models.Model):
    name = models.CharField(max_length=100, primary_key=True)
    began_at = models.DateTimeField(help_text="When the minute began.")
    taken = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return self.name
