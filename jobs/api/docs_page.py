"""The OpenAPI document, and the page that shows it: all of it from this site."""

from functools import cache
from importlib.resources import files
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_cache_control
from django.views.decorators.cache import never_cache

from jobs.api.admission import admit
from jobs.api.endpoint import not_allowed
from jobs.api.errors import ApiError, not_found
from jobs.api.site import api
from jobs.wire.names import ADMIN_SECRET_HEADER, KEY_HEADER

# Of django-ninja's package. Its own page would ask another site for them, unless every process, workers too, has it
# among its apps.
ASSETS = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript"}
WAYS = {
    "token": {"type": "http", "scheme": "bearer", "description": "A token of `manage.py make_api_token`."},
    "session": {
        "type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME,
        "description": "Logged in to this site; all but GET need the header X-CSRFToken, too.",
    },
    "worker": {
        "type": "apiKey", "in": "header", "name": KEY_HEADER,
        "description": "The key of a remote worker; or in `Authorization: Bearer`.",
    },
    "admin_secret": {
        "type": "apiKey", "in": "header", "name": ADMIN_SECRET_HEADER, "description": "JOBS_WORKER_ADMIN_SECRET.",
    },
}  # fmt: skip
FOR_STAFF = ("token", "session")


@never_cache
def document(request: HttpRequest) -> HttpResponse:
    """For staff, as all that it tells of."""
    try:
        if request.method not in ("GET", "HEAD"):
            raise not_allowed(request, ["GET"])
        admit(request, staff=True)
    except ApiError as error:
        return error.response()
    return JsonResponse(openapi(), json_dumps_params={"indent": 1})


def openapi() -> dict[str, Any]:
    told: dict[str, Any] = api.get_openapi_schema(path_prefix=reverse("jobs-api:document").removesuffix("openapi.json"))
    told["components"]["securitySchemes"] = WAYS
    told["security"] = [{name: []} for name in FOR_STAFF]
    for operations in told["paths"].values():
        for operation in operations.values():
            if permission := operation.get("x-permission"):
                needs = f"Needs the permission `{permission}`."
                operation["description"] = " ".join(filter(None, (operation.get("description"), needs)))
    return told


@never_cache
def page(request: HttpRequest) -> HttpResponseBase:
    user: Any = request.user
    if not user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    if not user.is_staff:
        return ApiError(403, "forbidden", f"This is for staff, and {user} is not marked as staff.").response()
    return render(request, "jobs/api/docs.html")


def asset(request: HttpRequest, name: str) -> HttpResponse:
    """Nothing in it is secret: it is the same for everybody who has django-ninja."""
    if name not in ASSETS:
        return not_found().response()
    response = HttpResponse(content_of(name), content_type=f"{ASSETS[name]}; charset=utf-8")
    patch_cache_control(response, public=True, max_age=86_400)
    return response


@cache
def content_of(name: str) -> bytes:
    return (files("ninja") / "static" / "ninja" / name).read_bytes()
