"""The HTTP answer for a file: conditional, whole or in part, and how long it may be kept."""

from urllib.parse import quote

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date, parse_http_date_safe

from jobs.conf import conf
from jobs.videos.serving.ranges import NotSatisfiable, Part, wanted_part, whole
from jobs.videos.serving.stored_file import StoredFile

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


def content(request: HttpRequest, file: StoredFile, content_type: str) -> HttpResponseBase:
    try:
        part = asked_part(request, file)
    except NotSatisfiable:
        return HttpResponse(status=416, headers={"Content-Range": f"bytes */{file.size}"}, content_type="text/plain")
    sent = part or whole(file.size)
    response: HttpResponseBase
    if request.method == "HEAD":
        response = HttpResponse(content_type=content_type)
    else:
        response = StreamingHttpResponse(file.read(sent), status=206 if part else 200, content_type=content_type)
    if part:
        response["Content-Range"] = f"bytes {part.start}-{part.start + part.length - 1}/{file.size}"
    response["Content-Length"] = str(sent.length)
    response["Accept-Ranges"] = "bytes"
    return response


def asked_part(request: HttpRequest, file: StoredFile) -> Part | None:
    header = request.headers.get("Range")
    if header is None or request.method != "GET" or not is_same(request.headers.get("If-Range"), file):
        return None
    return wanted_part(header, file.size)


def is_same(if_range: str | None, file: StoredFile) -> bool:
    """Whether the part belongs to what the browser has of the file already."""
    if not if_range or if_range == file.etag:
        return True
    date = parse_http_date_safe(if_range)
    return date is not None and date == file.timestamp
