"""How gunicorn serves ASGI: uvicorn, told to stop in time."""

from typing import Any

from uvicorn_worker import UvicornWorker  # type: ignore[import-untyped]


class WebWorker(UvicornWorker):
    """Ends what is left of its requests just before gunicorn would kill it."""

    CONFIG_KWARGS = {**UvicornWorker.CONFIG_KWARGS, "server_header": False, "ws": "none"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.config.timeout_graceful_shutdown = max(1, self.cfg.graceful_timeout - 2)
