"""How the admin's pages show states, progress, times and JSON; texts of others are escaped by the templates."""

import json
from datetime import datetime
from typing import Any

from django import template
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from jobs.api.events.asgi import slot_of
from jobs.models import Worker
from jobs.readable import brief_duration, full_time, human_duration, per_minute, told_empty_in
from jobs.selectors.throughput import Activity, Times

register = template.Library()
register.filter("full_time", full_time)
register.filter("rate", per_minute)


@register.filter
def badge(state: str) -> SafeString:
    """A word and a colour: whoever sees no colour still reads the word."""
    return format_html('<span class="jy-badge jy-{}">{}</span>', state, str(state).replace("_", " "))


@register.simple_tag
def bar(percent: int, of: str) -> SafeString:
    drawn = '<span class="jy-bar"><progress max="100" value="{0}" aria-label="Progress of {1}"></progress>{0} %</span>'
    return format_html(drawn, percent, of)


@register.simple_tag(takes_context=True)
def live(context: dict[str, Any], name: str, *arguments: Any, **query: Any) -> SafeString | str:
    """Where live.js says how up to date the page is; it listens at this address, or asks there now and then.

    Nothing in a project without `jobs.api.urls`: its pages show what was true when they came.
    """
    try:
        address = reverse(f"jobs-api:live-{name}", args=arguments)
    except NoReverseMatch:
        return ""
    stream = "yes" if slot_of(context["request"]) else "no"
    drawn = '<p class="jy-live" role="status" data-live="{}" data-stream="{}" hidden></p>'
    return format_html(drawn, f"{address}?{urlencode(query)}" if query else address, stream)


@register.simple_tag
def ago(moment: datetime | None, now: datetime) -> SafeString | str:
    """How long ago, with the moment itself for whoever points at it."""
    if moment is None:
        return "–"
    seconds = (now - moment).total_seconds()
    told = f"{human_duration(seconds)} ago" if seconds >= 0 else f"in {human_duration(-seconds)}"
    return format_html('<time datetime="{}" title="{}">{}</time>', moment.isoformat(), full_time(moment), told)


@register.filter
def in_its_zone(moment: datetime) -> str:
    """As the clocks show it where the moment is at home."""
    return moment.strftime("%a %Y-%m-%d %H:%M:%S %Z")


@register.filter
def seconds(number: float | None) -> str:
    return "–" if number is None else human_duration(number)


@register.filter
def grouped(number: int) -> str:
    """A count for people; ids are never written so."""
    return f"{number:,}"


@register.filter
def first_line(text: str) -> str:
    return text.split("\n", 1)[0][:120]


@register.filter
def as_json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


@register.filter
def get(mapping: dict[str, Any], key: str) -> Any:
    return mapping.get(key)


@register.filter
def attribute(thing: Any, name: str) -> Any:
    return getattr(thing, name)


@register.filter
def empty_in(rate: Activity, pending: int) -> str:
    return told_empty_in(rate.minutes_to_empty(pending), pending)


@register.filter
def share(number: float | None) -> str:
    return "–" if number is None else f"{number:.1%}"


@register.filter
def spread(times: Times) -> str:
    """How long half of them took at most, and nearly all."""
    return " / ".join(brief_duration(times.at(point)) for point in (0.5, 0.95, 0.99)) if times.jobs else "–"


@register.filter
def plain(number: float) -> str:
    """As SVG wants it, whatever the language of the page."""
    return f"{number:g}"


@register.filter
def with_code(text: str) -> SafeString:
    """What stands between backticks is to be typed."""
    pieces = text.split("`")
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", p) if i % 2 else p,) for i, p in enumerate(pieces))
    )


@register.simple_tag
def throughput(worker: Worker, now: datetime) -> str:
    """What a worker did since it started, as its last heartbeat said."""
    told = worker.metadata if isinstance(worker.metadata, dict) else {}
    counts = [told.get(name, 0) for name in ("jobs", "failed")]
    if not all(isinstance(number, int) for number in counts):
        return ""  # a program of somebody else's says other things
    done, failed = counts
    began = worker.started_at or worker.registered_at
    minutes = max(1.0, ((worker.last_heartbeat or now) - began).total_seconds() / 60)
    return f"{done:,} done" + (f", {failed:,} failed" if failed else "") + f", {per_minute(done / minutes)} / min"
