"""How the site is served; gunicorn reads this by itself. Streams and uploads need each of these: see docs/live.md."""

import os
import socket
from typing import Any

wsgi_app = "project.asgi:application"
bind = f"127.0.0.1:{os.environ.get('PORT', '8000')}"
worker_class = "project.web_worker.WebWorker"
workers = int(os.environ.get("WEB_PROCESSES", "1"))
loglevel = "warning"

# A process that does not answer gunicorn for so long is replaced. Requests may take longer: uploads do.
timeout = 60
# So long a stopping process may go on with what it has begun. Streams end at once; browsers come back by themselves.
graceful_timeout = 30
keepalive = 75  # longer than nginx keeps its connections, so that it never writes into one that has just been closed

READER_GONE_AFTER = 90_000  # milliseconds


def when_ready(server: Any) -> None:
    """A reader that vanished without a word, or stopped reading, is noticed by what it does not acknowledge."""
    for listener in server.LISTENERS:
        if listener.sock.family in (socket.AF_INET, socket.AF_INET6) and hasattr(socket, "TCP_USER_TIMEOUT"):
            listener.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, READER_GONE_AFTER)
