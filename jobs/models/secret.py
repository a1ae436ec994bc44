"""What the rows have in common that stand for a secret of somebody else: a token of the API, a key of a worker."""

from datetime import timedelta
from typing import Self, TypeVar

from django.db import models
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now

from jobs.bearer import PREFIX_LENGTH, is_secret_of, prefix_of

EXACTNESS = timedelta(minutes=1)  # of `last_used_at`: a program that calls often writes no row each time
S = TypeVar("S", bound="Secret")


class SecretQuerySet(models.QuerySet[S]):
    def with_problem(self) -> Self:
        """Annotates `problem`, why the secret no longer counts (empty while it does), and whether its use is noted."""
        lately = Q(last_used_at__isnull=False, last_used_at__gt=Now() - EXACTNESS)
        return self.annotate(
            problem=Case(
                When(revoked_at__isnull=False, then=Value("revoked")),
                When(expires_at__lte=Now(), then=Value("expired")),
                default=Value(""),
            ),
            noted=Case(When(lately, then=Value(True)), default=Value(False)),
        )

    def shown(self, text: str) -> S | None:
        """The one with this secret, and its problem. Every candidate is compared, each in constant time."""
        prefix = prefix_of(text)
        if prefix is None:
            return None
        matching = [row for row in self.with_problem().filter(prefix=prefix) if is_secret_of(row.digest, text)]
        return matching[0] if matching else None


class Secret(models.Model):
    prefix = models.CharField(max_length=PREFIX_LENGTH, db_index=True, help_text="How people tell it from others.")
    digest = models.CharField(max_length=64, editable=False)
    created_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True, blank=True, help_text="Empty: never.")
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, help_text="Exact to a minute.")

    class Meta:
        abstract = True
