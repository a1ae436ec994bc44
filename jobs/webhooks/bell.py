"""A bell in this process: rung when messages were committed, heard by whoever delivers them here, if anybody does."""

from collections.abc import Callable

CALL = ":webhooks"  # how other processes are told, among the names of queues, none of which begins so


class Bell:
    def __init__(self) -> None:
        self._listener: Callable[[], None] | None = None

    @property
    def is_heard(self) -> bool:
        return self._listener is not None

    def listen(self, listener: Callable[[], None] | None) -> None:
        self._listener = listener

    def ring(self) -> None:
        if self._listener:
            self._listener()


bell = Bell()
