"""The form of a periodic job: what an operator may say, read as the lifecycle wants it."""

import json
from typing import Any
from zoneinfo import available_timezones

from django import forms

from jobs.handlers.periodic import TERMS, Declaration
from jobs.handlers.registry import registry
from jobs.models import PeriodicJob
from jobs.states import CatchUp

CATCH_UPS = [
    ("", "as the setting says"),
    (CatchUp.NONE, "none: they are left out"),
    (CatchUp.ONE, "one: a single job for all of them"),
    (CatchUp.ALL, "all: a job for each, up to a limit"),
]


class JsonField(forms.JSONField):
    """Shown as people write it."""

    def prepare_value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return json.dumps(value, indent=2, ensure_ascii=False)
        return super().prepare_value(value)


class PeriodicForm(forms.Form):
    schedule = forms.CharField(
        max_length=200,
        help_text="Minute, hour, day of month, month, day of week (0 3 * * *), @daily and the like, or every 15m.",
    )
    timezone = forms.CharField(
        label="Time zone", required=False, max_length=100, help_text="As in Europe/Berlin; empty: the project's.",
        widget=forms.TextInput(attrs={"list": "jy-zones", "autocomplete": "off"}),
    )  # fmt: skip
    payload = JsonField(
        required=False, initial=dict, help_text="A JSON object: what each job is given.",
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
    )  # fmt: skip
    queue = forms.CharField(required=False, max_length=100, help_text="Empty: the kind's.")
    priority = forms.IntegerField(initial=0, min_value=-100, max_value=100, help_text="−100 to 100; higher goes first.")
    catch_up = forms.ChoiceField(label="Missed ticks", required=False, choices=CATCH_UPS)
    overlap = forms.BooleanField(
        label="May overlap", required=False, initial=True,
        help_text="Off: a tick is skipped while an earlier job has not ended.",
    )  # fmt: skip
    enabled = forms.BooleanField(label="On", required=False, initial=True)

    def terms(self) -> dict[str, Any]:
        return {**{term: self.cleaned_data[term] for term in TERMS}, "payload": self.cleaned_data["payload"] or {}}

    @staticmethod
    def values_of(row: PeriodicJob) -> dict[str, Any]:
        return {term: getattr(row, term) for term in TERMS}


class NewPeriodicForm(PeriodicForm):
    name = forms.CharField(max_length=100, help_text="Letters, digits, '.', '_' and '-'.")
    kind = forms.ChoiceField(help_text="What is enqueued.")
    field_order = ("name", "kind")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        kinds: Any = self.fields["kind"]
        kinds.choices = [("", "choose …"), *((kind.name, kind.name) for kind in registry)]

    def declaration(self) -> Declaration:
        return Declaration(self.cleaned_data["name"], self.cleaned_data["kind"], **self.terms())


def zones() -> list[str]:
    """For the field's suggestions."""
    return sorted(name for name in available_timezones() if "/" in name or name == "UTC")
