"""Who may watch, see why something failed, and order a new version.

Videos are private unless JOBS_VIDEO_PUBLIC says otherwise: a site that forgot to decide shows nothing to strangers.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponseBase

from jobs.conf import conf

View = Callable[..., HttpResponseBase]
NOBODY = AnonymousUser()


def may(request: HttpRequest, *verbs: str) -> bool:
    user = getattr(request, "user", NOBODY)
    return any(user.has_perm(f"videos.{verb}_video") for verb in verbs)


def may_watch(request: HttpRequest) -> bool:
    # In this order: on a public site files must not depend on a cookie, or no cache would share them.
    return conf.VIDEO_PUBLIC or may_inspect(request)


def may_inspect(request: HttpRequest) -> bool:
    """See what is not for visitors: error texts, and videos that were never published. As in the admin, who may
    change may look."""
    return may(request, "view", "change")


def may_change(request: HttpRequest) -> bool:
    return may(request, "change")


def for_watchers(view: View) -> View:
    """A page: strangers are sent to the login, and whoever is logged in without permission is told so."""

    @wraps(view)
    def guarded(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        if may_watch(request):
            return view(request, *arguments, **named)
        if request.user.is_authenticated:
            raise PermissionDenied
        return redirect_to_login(request.get_full_path())

    return guarded


def for_players(view: View) -> View:
    """What a player or a script fetches: a login page in place of a segment would help nobody."""

    @wraps(view)
    def guarded(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        if not may_watch(request):
            raise PermissionDenied
        return view(request, *arguments, **named)

    return guarded
