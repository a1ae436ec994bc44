"""The bytes of a file as an HTTP answer: whole, or the part that is asked for."""

from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.http import parse_http_date_safe

from jobs.serving.ranges import NotSatisfiable, Part, wanted_part, whole
from jobs.serving.stored_file import StoredFile


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
    """Whether the part belongs to what the reader has of the file already."""
    if not if_range or if_range == file.etag:
        return True
    date = parse_http_date_safe(if_range)
    return date is not None and date == file.timestamp
