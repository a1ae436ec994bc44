"""The HTTP answer for a file: conditional, whole or in part, and how long it may be kept."""

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response
from django.utils.http import http_date

from jobs.conf import conf
from jobs.serving.content import content
from jobs.serving.stored_file import StoredFile

# A version never changes. What only some may see is still kept no longer than somebody watches.
FOR_ALL, FOR_ONE = "public, max-age=31536000, immutable", "private, max-age=3600, immutable"


def respond(request: HttpRequest, file: StoredFile, content_type: str) -> HttpResponseBase:
    response: HttpResponseBase
    if conf.VIDEO_ACCEL:
        response = handed_to_nginx(file, content_type)
    else:
        unchanged = get_conditional_response(request, file.etag, file.timestamp)
        response = unchanged or content(request, file, content_type)
        response["ETag"] = file.etag
        if file.timestamp is not None:
            response["Last-Modified"] = http_date(file.timestamp)
    if response.status_code < 400:
        response["Cache-Control"] = FOR_ALL if conf.VIDEO_PUBLIC else FOR_ONE
    response["X-Content-Type-Options"] = "nosniff"
    return response


def handed_to_nginx(file: StoredFile, content_type: str) -> HttpResponse:
    """nginx sends the file itself, with ranges and conditions of its own."""
    response = HttpResponse(content_type=content_type)
    response["X-Accel-Redirect"] = quote(conf.VIDEO_ACCEL.rstrip("/") + "/" + file.name)
    return response
