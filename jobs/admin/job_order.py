"""An order of an operator: an action, on some jobs or on all that match a filter, carried out batch by batch."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

from django.http import QueryDict

from jobs.admin.job_actions import ACTIONS, Action, Done, Said
from jobs.admin.job_filter import FilterForm
from jobs.exceptions import InvalidInput
from jobs.lifecycle.new_job import check_priority, check_queue
from jobs.lifecycle.selection import BATCH
from jobs.selectors.job_pages import matching, number_by_state
from jobs.selectors.jobs import JobFilter
from jobs.selectors.walking import newest_id

PATIENCE = 20.0  # seconds that one request may take; what is left then is asked about again
LARGEST_ID = 2**63 - 1


@dataclass(frozen=True)
class Order:
    action: Action
    ids: tuple[int, ...] = ()  # these jobs, or
    form: FilterForm | None = None  # all that match
    after: int = 0  # those up to this one are done
    upto: int = 0  # what came later was not asked about

    @property
    def which(self) -> JobFilter:
        if self.form is not None:
            return self.form.which()
        return JobFilter(ids=self.ids)

    def states(self) -> Counter[str]:
        """How many jobs it is about, by the state that people are shown."""
        return number_by_state(self.which, after=self.after, upto=self.upto)

    def batches(self) -> Iterator[list[int]]:
        after = self.after
        while ids := matching(self.which, after=after, upto=self.upto, size=BATCH):
            yield ids
            after = ids[-1]


def read_order(sent: QueryDict) -> Order:
    """What a form of ours says; raises InvalidInput with a sentence for the operator."""
    action = ACTIONS.get(sent.get("action", ""))
    if action is None:
        raise InvalidInput("Choose what to do first.")
    after, upto = number(sent.get("after")) or 0, number(sent.get("upto")) or newest_id()
    if sent.get("across") == "1":
        form = FilterForm(QueryDict(sent.get("which", "")))
        if not form.is_valid():
            raise InvalidInput("The filter is not valid.")
        return Order(action, form=form, after=after, upto=upto)
    ids = tuple(filter(None, (number(text) for text in sent.getlist("_selected_action"))))
    if not ids:
        raise InvalidInput("Select at least one job first, or choose all that match.")
    return Order(action, ids=ids, after=after, upto=upto)


def read_said(sent: QueryDict, order: Order, by: str) -> Said:
    if order.action.asks_for == "priority":
        text = sent.get("priority", "").strip().replace("−", "-")
        return Said(by, priority=check_priority(int(text) if text.removeprefix("-").isdecimal() else text))
    if order.action.asks_for == "queue":
        return Said(by, queue=check_queue(sent.get("queue", "").strip()))
    return Said(by)


def number(text: str | None) -> int | None:
    if not text or not text.isdecimal() or not text.isascii() or len(text) > 19:
        return None
    return min(int(text), LARGEST_ID)


def carry_out(order: Order, said: Said, result: Done) -> int | None:
    """Adds what is done to the result, batch by batch; returns where to go on if time was up before the end."""
    until = monotonic() + PATIENCE
    for ids in order.batches():
        result.add(order.action.run(ids, said))
        if monotonic() > until:
            return ids[-1]
    return None
