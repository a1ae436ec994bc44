"""The dashboard in short, for the admin's first page: `{% dashboard_in_short %}`."""

from typing import Any

from django import template
from django.template import Context
from django.template.loader import render_to_string
from django.utils.safestring import SafeString, mark_safe

from jobs.admin.dashboard import MEDIA, context_of, may_see

register = template.Library()


@register.simple_tag
def dashboard_media() -> SafeString:
    return mark_safe("".join(MEDIA.render_css()))  # noqa: S308  made by Django of our own names  # nosec B308 B703


@register.simple_tag(takes_context=True)
def dashboard_in_short(context: Context) -> str:
    """Nothing for whoever may not see jobs."""
    request: Any = context["request"]
    if not may_see(request.user):
        return ""
    return render_to_string("jobs/admin/dashboard_on_index.html", context_of(request), request)
