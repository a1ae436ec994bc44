"""Small pieces that several models share."""

from enum import StrEnum

from django.db import models
from django.db.models import Q


def choices_of(states: type[StrEnum]) -> list[tuple[str, str]]:
    return [(state.value, state.value.replace("_", " ") or "none") for state in states]


def percent_between_0_and_100(field: str, name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=Q(**{f"{field}__gte": 0, f"{field}__lte": 100}), name=name)
