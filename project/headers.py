"""What every answer tells browsers not to do. Django sets the other headers: see SECURE_ in project/settings.py.

Django 6 has a middleware for the policy, 5.2 has none, and neither has one for permissions: this one serves both.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase

# Nothing from elsewhere, no scripts and no styles in the page. Browsers show small pictures of the admin as data:.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# What no page of ours asks for. Sound, the whole screen and a small window above others are for videos.
PERMISSIONS = ", ".join(
    f"{feature}=()"
    for feature in (
        "accelerometer", "browsing-topics", "camera", "display-capture", "geolocation", "gyroscope", "hid",
        "magnetometer", "microphone", "midi", "payment", "publickey-credentials-get", "serial", "usb",
    )
)  # fmt: skip

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def policies(get_response: GetResponse) -> GetResponse:
    """The middleware. A view that sets a header of these itself keeps it."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        # Django's pages for developers have their styles and scripts in the page.
        for_developers = settings.DEBUG and response.status_code in (404, 500)
        if settings.CONTENT_SECURITY_POLICY and not for_developers:
            response.headers.setdefault("Content-Security-Policy", settings.CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return middleware
