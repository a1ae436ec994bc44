"""Who may call what: authenticated, with the permission, a body that is not too large, and no forged form."""

from collections.abc import Callable

from django.http import HttpRequest

from jobs.api.authentication import Caller, authenticate, check_csrf
from jobs.api.bodies import check_type
from jobs.api.errors import ApiError

SAFE = ("GET", "HEAD")
SMALL = 64 * 1024


def small() -> int:
    return SMALL


def admit(
    request: HttpRequest,
    *permissions: str,
    staff: bool = False,
    largest: Callable[[], int] = small,
    only_type: str = "",
) -> Caller:
    """The caller, or an error: the cheap questions first. Any of the permissions will do; the first is the one named.

    `largest` is how many bytes a body may have (0 = any), `only_type` of which Content-Type it must be.
    """
    caller = authenticate(request)
    check_permissions(caller, permissions, staff)
    check_size(request, largest())
    if only_type and length_of(request):
        check_type(request, only_type)  # before the check that may read the body as a form
    if caller.by_cookie and request.method not in SAFE:
        check_csrf(request)
    return caller


def check_permissions(caller: Caller, permissions: tuple[str, ...], staff: bool) -> None:
    if staff and not caller.user.is_staff:
        raise ApiError(403, "forbidden", f"This is for staff, and {caller.user} is not marked as staff.")
    if permissions and not any(caller.user.has_perm(permission) for permission in permissions):
        raise ApiError(403, "forbidden", f"This needs the permission {permissions[0]}.")


def check_size(request: HttpRequest, largest: int) -> None:
    if "Transfer-Encoding" in request.headers:
        raise ApiError(411, "length_required", "Send the body with a Content-Length, not in chunks.")
    length = length_of(request)
    if largest and length > largest:
        raise ApiError(413, "too_large", f"The body has {length} bytes; at most {largest} are accepted.")


def length_of(request: HttpRequest) -> int:
    told = str(request.META.get("CONTENT_LENGTH") or 0)
    return int(told) if told.isdecimal() and len(told) < 20 else 0  # as Django reads it: then there is no body
