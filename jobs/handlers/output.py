"""What a subprocess says: its lines as they come, and both ends of the whole, however much it is."""

from collections.abc import Callable

KEPT = 1024 * 1024  # bytes of each stream; who needs more writes it to a file
LONGEST_LINE = 64 * 1024
CUT = "\n… [{} bytes cut] …\n"


class Kept:
    """The head and the tail of a stream; what lies between is counted and forgotten."""

    def __init__(self, limit: int = KEPT) -> None:
        self._half = limit // 2
        self._head, self._tail = bytearray(), bytearray()
        self._cut = 0

    def feed(self, chunk: bytes) -> None:
        room = self._half - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        if len(self._tail) > 2 * self._half:  # not at each chunk: moving the tail costs
            self._forget()

    def text(self) -> str:
        self._forget()
        note = CUT.format(self._cut).encode() if self._cut else b""
        return (self._head + note + self._tail).decode("utf-8", "replace")

    def _forget(self) -> None:
        over = max(0, len(self._tail) - self._half)
        self._cut += over
        del self._tail[:over]


class Lines:
    """Hands each line on when it is complete; one without end is handed on in pieces."""

    def __init__(self, on_line: Callable[[str], object]) -> None:
        self._on_line = on_line
        self._begun = b""

    def feed(self, chunk: bytes) -> None:
        *whole, self._begun = (self._begun + chunk).split(b"\n")
        for line in whole:
            self._say(line)
        while len(self._begun) > LONGEST_LINE:
            piece, self._begun = self._begun[:LONGEST_LINE], self._begun[LONGEST_LINE:]
            self._say(piece)

    def end(self) -> None:
        last, self._begun = self._begun, b""
        if last:
            self._say(last)

    def _say(self, line: bytes) -> None:
        self._on_line(line.decode("utf-8", "replace").rstrip("\r"))


def last_words(text: str, lines: int = 10, limit: int = 2000) -> str:
    """The end of a text, to be put into an error: the last line first, for where only one line is shown."""
    *before, last = text.rstrip()[-limit:].splitlines()[-lines:] or [""]
    said = "\n".join([f" It said: {last}", *(["Before that:"] if before else []), *before])
    return said if last else ""
