"""Calls of the HTTP API as a program makes them."""

from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

VIDEOS = "/api/videos"
CONTENT = b"what a camera might have written"
ALL = ("view_video", "add_video", "change_video", "delete_video")


def a_file(content: bytes = CONTENT, name: str = "holiday.mkv") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content)


def upload(client: Client, **fields: Any) -> Any:
    return client.post(VIDEOS, {"file": a_file(), **fields})
