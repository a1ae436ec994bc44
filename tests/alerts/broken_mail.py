"""A mail backend that does not work, as a project's own may."""

from typing import Any

from django.core.mail.backends.base import BaseEmailBackend


class Backend(BaseEmailBackend):
    def send_messages(self, messages: Any) -> int:
        raise RuntimeError("no post today")
