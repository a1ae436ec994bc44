"""What children print while a table is on the terminal: overheard, line by line, so that it does not tear it apart."""

import logging
import os
import select
import threading
from collections.abc import Callable

from jobs.worker.display import STANDARD_ERROR, STANDARD_OUTPUT

logger = logging.getLogger("jobs.worker")
LOOK_UP = 0.1  # seconds between looks whether to stop
LONGEST = 64 * 1024  # bytes of one line


class Overheard:
    """A pipe in the place of the terminal. Made before children are forked: they inherit its other end."""

    def __init__(self, on_line: Callable[[str], None]) -> None:
        self.on_line = on_line
        self._reader, self._writer = os.pipe()
        self._stop_asked = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="overheard", daemon=True)
        self._rest = b""

    def in_child(self) -> None:
        """What would go to the terminal goes to us from here on; what goes to a file still does."""
        for fd in (STANDARD_OUTPUT, STANDARD_ERROR):
            if os.isatty(fd):
                os.dup2(self._writer, fd)

    def start(self) -> None:
        """Children must have been forked from a process with one thread: not before that."""
        self._thread.start()

    def stop(self) -> None:
        """Hear what was said until now; what is said later is lost."""
        self._stop_asked.set()
        self._thread.join()
        if self._rest:
            self._tell(b"\n")
        os.close(self._reader)
        os.close(self._writer)

    def _listen(self) -> None:
        while self._has_words() or not self._stop_asked.is_set():
            while self._has_words():
                self._tell(os.read(self._reader, LONGEST))

    def _has_words(self) -> bool:
        return bool(select.select([self._reader], [], [], 0 if self._stop_asked.is_set() else LOOK_UP)[0])

    def _tell(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LONGEST:
            lines, self._rest = [*lines, self._rest], b""
        for line in lines:
            try:
                self.on_line(line.decode(errors="replace"))
            except Exception:  # whoever prints would wait for ever for a reader that is dead
                logger.exception("a line could not be shown")
