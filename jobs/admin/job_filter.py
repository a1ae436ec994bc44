"""Which jobs the list shows: a form in the page, a query in the address, a JobFilter for the selector."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms

from jobs.handlers.registry import registry
from jobs.models import Worker
from jobs.selectors.jobs import JobFilter, in_state
from jobs.states import Status

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TIMES: dict[str, tuple[str, timedelta | None, timedelta | None]] = {
    "1h": ("in the last hour", HOUR, None),
    "1d": ("in the last day", DAY, None),
    "7d": ("in the last 7 days", 7 * DAY, None),
    "over1h": ("more than an hour ago", None, HOUR),
    "over1d": ("more than a day ago", None, DAY),
    "over7d": ("more than 7 days ago", None, 7 * DAY),
}
WORKERS_OFFERED = 100
GROUPS = (Status.PENDING.value, Status.RUNNING.value)  # several states each
STATES = (
    "pending", "unclaimed", "scheduled", "retrying", "running", "claimed", "expired", "stalled",
    "completed", "failed", "cancelled",
)  # fmt: skip
Choices = Iterable[tuple[str, str]]


class FilterForm(forms.Form):
    q = forms.CharField(
        label="Search", required=False, max_length=200,
        widget=forms.TextInput(attrs={"placeholder": "id, subject, key or error", "type": "search"}),
    )  # fmt: skip
    queue = forms.CharField(required=False, max_length=100, widget=forms.Select)
    kind = forms.CharField(required=False, max_length=100, widget=forms.Select)
    scope = forms.CharField(required=False, max_length=200)
    worker = forms.UUIDField(required=False, widget=forms.Select)
    time = forms.ChoiceField(
        required=False, choices=[("", "any time"), *((key, told) for key, (told, _, _) in TIMES.items())]
    )
    state = forms.ChoiceField(
        required=False, choices=[("", "any"), *((state, state) for state in STATES)], widget=forms.HiddenInput
    )

    def offer(self, queues: Iterable[str], kinds: Iterable[str]) -> None:
        """The choices: what there is, and whatever the address says. Of kinds, those with a handler here, too."""
        self.choose("queue", "all queues", ((name, name) for name in queues))
        self.choose("kind", "all kinds", ((name, name) for name in sorted({*kinds, *(kind.name for kind in registry)})))
        workers = Worker.objects.order_by("-registered_at").values_list("pk", "name", "status")[:WORKERS_OFFERED]
        self.choose("worker", "all workers", ((str(pk), f"{name} ({status})") for pk, name, status in workers))

    def choose(self, field: str, none: str, choices: Choices) -> None:
        offered = dict(choices)
        if value := str(self.cleaned_data.get(field) or ""):
            offered.setdefault(value, value)
        widget: Any = self.fields[field].widget
        widget.choices = [("", none), *offered.items()]

    def given(self) -> dict[str, str]:
        return {name: str(value) for name, value in self.cleaned_data.items() if value}

    def query(self, **more: Any) -> str:
        """For an address: the filter, with some of it said anew (None: left out)."""
        said = {**self.given(), **more}
        return urlencode({name: value for name, value in said.items() if value})

    def which(self) -> JobFilter:
        data = self.cleaned_data
        _, newer_than, older_than = TIMES.get(data["time"], ("", None, None))
        statuses, states = in_state(data["state"])
        return JobFilter(
            statuses=statuses,
            states=states,
            queue=data["queue"] or None,
            kind=data["kind"] or None,
            scope=data["scope"] or None,
            worker=data["worker"],
            text=data["q"],
            newer_than=newer_than,
            older_than=older_than,
        )

    def words(self) -> list[tuple[str, str]]:
        """The filter for people to read."""
        told = self.given()
        if "time" in told:
            told["time"] = TIMES[told["time"]][0]
        return [("search" if name == "q" else name, value) for name, value in told.items()]
