"""Who tried to log in, from where, and whether it worked: as digests, for people type passwords where names belong."""

from django.db import models
from django.db.models.functions import Now


class LoginAttempt(models.Model):
    name = models.CharField(max_length=64)
    address = models.CharField(max_length=64)
    succeeded = models.BooleanField(default=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            models.Index(fields=["name", "at"], name="login_by_name"),
            models.Index(fields=["address", "at"], name="login_by_address"),
        ]

    def __str__(self) -> str:
        return f"log-in {self.pk}"
