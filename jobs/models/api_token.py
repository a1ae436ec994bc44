"""A token: lets a program call the HTTP API as a user, with that user's permissions."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now

from jobs.bearer import PREFIX_LENGTH

EXACTNESS = timedelta(minutes=1)  # of `last_used_at`: a program that calls often writes no row each time


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def with_problem(self) -> "ApiTokenQuerySet":
        """Annotates `problem`, why the token no longer counts (empty while it does), and whether its use is noted."""
        lately = Q(last_used_at__isnull=False, last_used_at__gt=Now() - EXACTNESS)
        return self.annotate(
            problem=Case(
                When(revoked_at__isnull=False, then=Value("revoked")),
                When(expires_at__lte=Now(), then=Value("expired")),
                default=Value(""),
            ),
            noted=Case(When(lately, then=Value(True)), default=Value(False)),
        )


class ApiToken(models.Model):
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    name = models.CharField(max_length=100, help_text="What it is for.")
    prefix = models.CharField(max_length=PREFIX_LENGTH, db_index=True, help_text="How people tell it from others.")
    digest = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="Exact to a minute.")

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
