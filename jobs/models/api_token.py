"""A token: lets a program call the HTTP API as a user, with that user's permissions."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.models.secret import Secret, SecretQuerySet


class ApiTokenQuerySet(SecretQuerySet["ApiToken"]):
    pass


class ApiToken(Secret):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=100, help_text="What it is for.")

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        verbose_name = "API token"
        constraints = [
            models.UniqueConstraint(
                fields=["user", "name"], name="token_name_once_per_user", condition=Q(revoked_at=None)
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"
