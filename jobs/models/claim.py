"""A claim call that took something: one row per call, however many jobs it took.

It makes a claim call repeatable: the id can be used once, and whoever repeats it gets what it still holds.
"""

from django.db import models
from django.db.models.functions import Now


class Claim(models.Model):
    id = models.UUIDField(primary_key=True)
    worker_id = models.UUIDField()
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["made_at"], name="claim_made_at")]

    def __str__(self) -> str:
        return f"claim {self.pk}"
